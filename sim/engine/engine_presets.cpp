#include <fmt/format.h>

#include "sim/engine/scenario_parts.h"

namespace weir {
namespace {

struct Preset {
  const char *name, *summary;
  double per_step_us, per_sequence_us;
  const char* collective_library;
};

// per_step: what shows of scheduler, input preparation and launches beside the kernels. per_sequence:
// sampling with top-p or top-k, which a server does unless its client asks for greedy (vLLM takes both from
// the model's generation_config.json): PyTorch sorts the logits row by row, about ten launches a row
// (aten/src/ATen/native/cuda/SortStable.cu, segmented_sort_large_segments).
// Calibrated on the mean TPOT of the H100 and H200 servers of AIConfigurator's silicon_sample.csv, on every
// second row of each engine; how well it then fits the other rows: docs/calibration/README.md. vllm_v0:
// ESTIMATE, its scheduler runs between steps (1.4-4 ms a step at batch 8-64 on A100, Vidur's CPU overhead
// profiles).
const std::vector<Preset> presets = {
    {"vllm_v1", "vLLM 0.8 and later: CUDA graphs, scheduler in a process of its own", 500, 45, "vllm"},
    {"vllm_v0", "vLLM up to 0.7: the scheduler runs between steps", 1500, 45, "vllm"},
    {"trtllm", "TensorRT-LLM: C++ runtime, overlapped scheduling", 300, 20, "trtllm"},
    {"ideal", "no host time at all, plain ring collectives", 0, 0, ""},
};

}  // namespace

std::vector<NamedSummary> engines() {
  std::vector<NamedSummary> list;
  for (const Preset& p : presets)
    list.push_back({p.name, fmt::format("{}; {:g} us a step, {:g} us a sampled token", p.summary,
                                        p.per_step_us, p.per_sequence_us)});
  return list;
}

EngineOverhead read_engine(Params params) {
  EngineOverhead engine;
  engine.kind = params.choice({"kind", "Its host time a step and its collective library."},
                              names_of(engines()), "vllm_v1");
  const auto given = params.quantity_or_null<Seconds>(
      {"step_overhead_us", "Host time a step beside the kernels; instead of the preset's."}, not_negative);
  const bool greedy =
      params.choice({"sampling", "What picks a token: top_p pays for sorting a sequence's logits."},
                    {"top_p", "greedy"}, "top_p") == "greedy";
  params.close();
  for (const Preset& p : presets) {
    if (engine.kind != p.name) continue;
    engine.per_step = given.value_or(Seconds(p.per_step_us * 1e-6));
    engine.per_sequence = given || greedy ? Seconds(0) : Seconds(p.per_sequence_us * 1e-6);
    engine.collective_library = p.collective_library;
  }
  return engine;
}

}  // namespace weir
