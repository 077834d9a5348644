#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

struct Preset {
  const char *name, *summary;
  double per_step_us, per_sequence_us;
  const char* library;
  bool pipelined_chunks = true;  // vLLM v0 binds a sequence to one micro-batch of the pipeline
  double per_prompt_us = 0;
  double workers_per_step_us = 0, workers_per_sequence_us = 0;
  const char* graphs = "every_size";
  int most_rows = 512;  // vLLM's largest (vllm/config.py)
  bool graphs_of_prompts = true;
  double eager_step_us = 0, launch_us = 0, small_kernels_us = 0;
  double front_end_ms = 0;
  int scheduled_ahead_steps = 0;
  bool overlapped = false;
  PrefixIndex prefix_index = PrefixIndex::blocks;
  bool requests_by_memory = false;  // its limit of requests at once
};

// per_step: what shows of scheduler, input preparation and launches beside the kernels. per_sequence: what
// grows with the batch: sampling, detokenisation, streaming. What is fitted is so to the even rows of
// AIConfigurator's silicon_sample.csv by docs/calibration/engine_hosts.py; its README has the errors, those
// of each model left out among them ("Servers"). vllm_v1: fitted is what workers cost a sequence, to
// ITL of experts on several GPUs too (ML.ENERGY leaderboard), which alone say the same. ESTIMATE: 500 us a
// step and 20 a sequence, which the RTX servers bear whose clients call the engine in its own
// process; 5 ms of front end, a client's usual round trip; 50 us a launch, as vllm_v0, for steps beyond 512
// tokens, its largest graph (vllm/config.py). A request that comes waits for a step longer than the one that
// runs: TTFT of four groups of servers on two versions says so. trtllm: fitted is the front end. A step's
// scheduling hides behind the one before (overlap scheduler), and servers show none of it. Prompts run
// outside graphs (cuda_graph_config is of decodes): 14 ms a step and 20 us a kernel, of dense servers and
// experts alike, as servers of all models but the largest choose by TTFT; its own asks for 30, and its TPOT
// for 15. vllm_v0: vLLM 0.2 to 0.4 with engine and worker in Ray actors, as DistServe ran it. A kernel's
// launch: on two and four A100s its decode of OPT-13B takes 20.5 and 21.6 ms, of OPT-66B on four 33.0,
// whatever the batch (simdistserve/estimators/profile_data/profiler-a100-80g.vllm.json): 50 to 53 us a
// kernel. The others are fitted to its two published runs of OPT-13B (sim/studies/validation/distserve.cpp),
// request by request. sglang: ESTIMATE, 300 us a step and 15 a sequence, got of TensorRT-LLM before its
// workers were told apart. Steps with prompts: 30 ms and 120 us an operator, of which each is two to three
// kernels there; fitted to the TTFT of servers of four models (docs/calibration/README.md), as no dense one
// was measured.
const std::vector<Preset> presets = {
    {.name = "vllm_v1",
     .summary = "vLLM 0.8 and later: CUDA graphs, scheduler in a process of its own",
     .per_step_us = 500,
     .per_sequence_us = 20,
     .library = "vllm",
     .workers_per_sequence_us = 27,
     .graphs = "padded",
     .launch_us = 50,
     .front_end_ms = 5,
     .scheduled_ahead_steps = 1,
     .requests_by_memory = true},
    {.name = "vllm_v0",
     .summary = "vLLM 0.2 to 0.4: no CUDA graphs, Python and Ray between steps",
     .per_step_us = 4500,
     .per_sequence_us = 370,
     .library = "vllm",
     .pipelined_chunks = false,
     .per_prompt_us = 27000,
     .graphs = "off",
     .launch_us = 51},
    {.name = "trtllm",
     .summary = "TensorRT-LLM: overlapped scheduling, CUDA graphs of decodes",
     .per_step_us = 0,
     .per_sequence_us = 0,
     .library = "trtllm",
     .graphs_of_prompts = false,
     .eager_step_us = 14000,
     .launch_us = 20,
     .front_end_ms = 17.5,
     .scheduled_ahead_steps = 1},
    {.name = "sglang",
     .summary = "SGLang: overlapped scheduling, CUDA graphs of decodes",
     .per_step_us = 300,
     .per_sequence_us = 15,
     .library = "sglang",
     .graphs = "padded",
     .graphs_of_prompts = false,
     .eager_step_us = 30000,
     .launch_us = 120,
     .overlapped = true,
     .prefix_index = PrefixIndex::radix_tree},
    {"ideal", "no host time at all, plain ring collectives", 0, 0, ""},
};

const Choices<CudaGraphs::Sizes> graph_sizes = {{"every_size", CudaGraphs::Sizes::every},
                                                {"padded", CudaGraphs::Sizes::padded},
                                                {"off", CudaGraphs::Sizes::none}};

CudaGraphs read_graphs(Params& params, const Preset& preset) {
  CudaGraphs graphs;
  graphs.sizes = params.choice({"cuda_graphs",
                                "Which steps run as CUDA graphs: of every_size; padded up to 1, 2, 4 or a "
                                "multiple of 8 rows; off: none does. The others launch kernel after kernel."},
                               graph_sizes, preset.graphs);
  graphs.most_rows = params.integer({"cuda_graph_max_rows", "Tokens of the largest batch that is padded."},
                                    {1}, preset.most_rows);
  graphs.prompts = params.flag({"cuda_graph_prompts", "Steps with prompts run as graphs as well."},
                               preset.graphs_of_prompts);
  // A resolved scenario repeats its preset's values, which is no news.
  if (graphs.most_rows != preset.most_rows && graphs.sizes != CudaGraphs::Sizes::padded)
    params.note("cuda_graph_max_rows", "is not used: with \"cuda_graphs\": \"padded\" it would be");
  if (graphs.prompts != preset.graphs_of_prompts && graphs.sizes == CudaGraphs::Sizes::none)
    params.note("cuda_graph_prompts", "is not used: no step runs as a CUDA graph");
  return graphs;
}

void note_unused_launches(Params& params, const EngineOverhead& engine, const Preset& preset) {
  if (engine.graphs.sizes != CudaGraphs::Sizes::every || !engine.graphs.prompts) return;
  for (const auto& [key, time, preset_us] : {std::tuple{"launch_us", engine.launch, preset.launch_us},
                                             {"eager_step_us", engine.eager_step, preset.eager_step_us}})
    if (time != Seconds(1e-6 * preset_us)) params.note(key, "is not used: every step runs as a CUDA graph");
}

Preset with_calibration(Preset preset, const Calibration& calibration, Params& params) {
  if (calibration.given() && calibration.engine != preset.name)
    params.fail("calibration",
                fmt::format("is of {}, and this engine is {}", calibration.engine, preset.name));
  for (const auto& [time, given] : {std::pair{&preset.per_step_us, calibration.step_overhead_us},
                                    {&preset.per_sequence_us, calibration.sequence_overhead_us},
                                    {&preset.per_prompt_us, calibration.prompt_overhead_us}})
    *time = given.value_or(*time);
  return preset;
}

void note_unused_calibration(Params& params, const Calibration& calibration) {
  for (const auto& [key, calibrated] : {std::pair{"step_overhead_us", calibration.step_overhead_us},
                                        {"sequence_overhead_us", calibration.sequence_overhead_us},
                                        {"prompt_overhead_us", calibration.prompt_overhead_us}})
    if (calibrated && (params.has(key) || params.has("step_overhead_us")))
      params.note(key,
                  fmt::format("the calibration's {:g} us is not used beside what is given", *calibrated));
}

const Preset& preset_of(const std::string& kind) {
  const auto known = std::find_if(presets.begin(), presets.end(), [&](auto& p) { return kind == p.name; });
  return known == presets.end() ? presets.front() : *known;
}

}  // namespace

FrontEndDefaults front_end_of(const std::string& engine) {
  const Preset& preset = preset_of(engine);
  return {preset.front_end_ms, preset.scheduled_ahead_steps};
}

PrefixIndex prefix_index_of(const std::string& engine) {
  return preset_of(engine).prefix_index;
}

bool limits_requests_by_memory(const std::string& engine) {
  return preset_of(engine).requests_by_memory;
}

std::vector<NamedSummary> engines() {
  std::vector<NamedSummary> list;
  for (const Preset& p : presets)
    list.push_back({p.name, fmt::format("{}; {:g} us a step, {:g} us a sequence", p.summary, p.per_step_us,
                                        p.per_sequence_us)});
  return list;
}

EngineOverhead read_engine(Params& params, const Calibration& calibration) {
  const std::string kind = params.choice({"kind", "Its host time a step, its kernels and its collectives."},
                                         names_of(engines()), "vllm_v1");
  const Preset preset = with_calibration(preset_of(kind), calibration, params);
  const auto step = params.quantity_or_null<Seconds>(
      {"step_overhead_us", "Host time a step beside the kernels; instead of the preset's."}, not_negative);
  const auto sequence = params.quantity_or_null<Seconds>(
      {"sequence_overhead_us",
       "The same for each sequence of the batch; by default the preset's, none beside step_overhead_us."},
      not_negative);
  const auto prompt = params.quantity_or_null<Seconds>(
      {"prompt_overhead_us", "The same for each prompt, or chunk of one, that the step computes."},
      not_negative);
  const auto workers_step = params.quantity_or_null<Seconds>(
      {"worker_step_overhead_us",
       "More a step where the replica has several devices, and a worker process each; by default the "
       "preset's, none beside step_overhead_us."},
      not_negative);
  const auto workers_sequence = params.quantity_or_null<Seconds>(
      {"worker_sequence_overhead_us", "Likewise more for each sequence of the batch."}, not_negative);
  const auto us = [&](double preset_us) { return Seconds(step ? 0 : preset_us * 1e-6); };
  EngineOverhead engine{.kind = kind,
                        .per_step = step.value_or(us(preset.per_step_us)),
                        .per_sequence = sequence.value_or(us(preset.per_sequence_us)),
                        .per_prompt = prompt.value_or(us(preset.per_prompt_us)),
                        .workers_per_step = workers_step.value_or(us(preset.workers_per_step_us)),
                        .workers_per_sequence = workers_sequence.value_or(us(preset.workers_per_sequence_us)),
                        .library = preset.library,
                        .collectives = preset.library};
  if (const std::string own = params.choice({"collectives",
                                             "The library of its collectives; FlashInfer's all-reduce in "
                                             "vLLM or SGLang is TensorRT-LLM's. engine: its own."},
                                            {"engine", "nccl", "vllm", "trtllm", "sglang"}, "engine");
      own != "engine")
    engine.collectives = own;
  engine.overlapped = params.flag(
      {"async_scheduling",
       "The host does what requests need while the step before runs (vLLM's --async-scheduling, its default "
       "from 0.14 on; SGLang's overlap scheduler): of the kernels and the host time of sequences and prompts "
       "the longer one counts, not both."},
      preset.overlapped);
  engine.graphs = read_graphs(params, preset);
  engine.eager_step = params.quantity<Seconds>(
      {"eager_step_us",
       "Host time of a step that runs as no CUDA graph; its kernels run meanwhile, and the "
       "longer of the two counts."},
      not_negative, preset.eager_step_us);
  engine.launch = params.quantity<Seconds>({"launch_us", "The same for each of its kernels."}, not_negative,
                                           preset.launch_us);
  note_unused_launches(params, engine, preset);
  note_unused_calibration(params, calibration);
  engine.small_kernels = params.quantity<Seconds>(
      {"small_kernels_us",
       "Time a layer of kernels that no operator stands for: writing keys and values "
       "into the cache, quantising."},
      not_negative, preset.small_kernels_us);
  engine.pipelined_chunks = params.flag(
      {"pipelined_chunks",
       "With several stages: a prompt's next chunk may enter the pipeline before the one before has left it; "
       "by default as the engine does (vLLM v1: yes, v0: no)."},
      preset.pipelined_chunks);
  return engine;
}

}  // namespace weir
