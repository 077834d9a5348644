#include <fmt/format.h>

#include <algorithm>

#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

struct Preset {
  const char *name, *summary;
  double per_step_us, per_sequence_us;
  const char* library;
  bool pipelined_chunks;  // vLLM v0 binds a sequence to one micro-batch (virtual engine) of the pipeline
};

// per_step: what shows of scheduler, input preparation and launches beside the kernels. per_sequence: what
// grows with the batch: sampling, detokenisation, streaming. Evidence: docs/calibration/README.md, "Servers".
// trtllm: the least mean TPOT error over every second of its servers in AIConfigurator's silicon_sample.csv.
// vllm_v1: ESTIMATE. 500 us is near what its vLLM servers there fit (600); 20 us a sequence lies between them
// (50 to 80 us: they sort logits for top-p and stream over HTTP) and the RTX servers whose clients call the
// engine in its own process (about none). vllm_v0: ESTIMATE, its scheduler runs between steps (1.4-4 ms a
// step at batch 8-64 on A100, Vidur's CPU overhead profiles).
const std::vector<Preset> presets = {
    {"vllm_v1", "vLLM 0.8 and later: CUDA graphs, scheduler in a process of its own", 500, 20, "vllm", true},
    {"vllm_v0", "vLLM up to 0.7: the scheduler runs between steps", 1500, 20, "vllm", false},
    {"trtllm", "TensorRT-LLM: C++ runtime, overlapped scheduling", 300, 15, "trtllm", true},
    {"ideal", "no host time at all, plain ring collectives", 0, 0, "", true},
};

}  // namespace

std::vector<NamedSummary> engines() {
  std::vector<NamedSummary> list;
  for (const Preset& p : presets)
    list.push_back({p.name, fmt::format("{}; {:g} us a step, {:g} us a sequence", p.summary, p.per_step_us,
                                        p.per_sequence_us)});
  return list;
}

EngineOverhead read_engine(Params& params) {
  const std::string kind = params.choice({"kind", "Its host time a step, its kernels and its collectives."},
                                         names_of(engines()), "vllm_v1");
  const auto known = std::find_if(presets.begin(), presets.end(), [&](auto& p) { return kind == p.name; });
  const Preset& preset = known == presets.end() ? presets.front() : *known;
  const auto step = params.quantity_or_null<Seconds>(
      {"step_overhead_us", "Host time a step beside the kernels; instead of the preset's."}, not_negative);
  const auto sequence = params.quantity_or_null<Seconds>(
      {"sequence_overhead_us",
       "The same for each sequence of the batch; by default the preset's, none beside step_overhead_us."},
      not_negative);
  EngineOverhead engine{.kind = kind,
                        .per_step = step.value_or(Seconds(preset.per_step_us * 1e-6)),
                        .per_sequence = sequence.value_or(Seconds(step ? 0 : preset.per_sequence_us * 1e-6)),
                        .library = preset.library};
  engine.pipelined_chunks = params.flag(
      {"pipelined_chunks",
       "With several stages: a prompt's next chunk may enter the pipeline before the one before has left it; "
       "by default as the engine does (vLLM v1: yes, v0: no)."},
      preset.pipelined_chunks);
  return engine;
}

}  // namespace weir
