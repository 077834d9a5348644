#include "sim/engine/scenario_parts.h"

namespace weir {
namespace {

struct Preset {
  const char *name, *summary;
  double per_step_us, per_sequence_us;
  const char* collective_library;
};

// Calibration of the host's share: docs/calibration/README.md.
const std::vector<Preset> presets = {
    {"vllm_v1", "vLLM 0.8 and later: CUDA graphs, scheduler in its own process", 500, 0, "vllm"},
    {"vllm_v0", "vLLM up to 0.7: the scheduler runs between steps", 1500, 20, "vllm"},
    {"trtllm", "TensorRT-LLM: C++ runtime, overlapped scheduling", 300, 20, "trtllm"},
    {"ideal", "no host time at all, plain ring collectives", 0, 0, ""},
};

}  // namespace

std::vector<NamedSummary> engines() {
  std::vector<NamedSummary> list;
  for (const Preset& p : presets) list.push_back({p.name, p.summary});
  return list;
}

EngineOverhead read_engine(Params params) {
  EngineOverhead engine;
  engine.kind = params.choice({"kind", "Its host time a step and its collective library."}, names_of(engines()), "vllm_v1");
  const auto given = params.quantity_or_null<Seconds>(
      {"step_overhead_us", "Host time a step beside the kernels; instead of the preset's."}, not_negative);
  params.close();
  for (const Preset& p : presets) {
    if (engine.kind != p.name) continue;
    engine.per_step = given.value_or(Seconds(p.per_step_us * 1e-6));
    engine.per_sequence = given ? Seconds(0) : Seconds(p.per_sequence_us * 1e-6);
    engine.collective_library = p.collective_library;
  }
  return engine;
}

}  // namespace weir
