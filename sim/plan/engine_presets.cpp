#include <fmt/format.h>

#include <tuple>

#include "sim/plan/engine_catalog.h"
#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

const Choices<CudaGraphs::Sizes> graph_sizes = {{"every_size", CudaGraphs::Sizes::every},
                                                {"padded", CudaGraphs::Sizes::padded},
                                                {"off", CudaGraphs::Sizes::none}};

CudaGraphs read_graphs(Params& params, const EnginePreset& preset) {
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

void note_unused_launches(Params& params, const EngineOverhead& engine, const EnginePreset& preset) {
  if (engine.graphs.sizes != CudaGraphs::Sizes::every || !engine.graphs.prompts) return;
  for (const auto& [key, time, preset_us] : {std::tuple{"launch_us", engine.launch, preset.launch_us},
                                             {"eager_step_us", engine.eager_step, preset.eager_step_us}})
    if (time != Seconds(1e-6 * preset_us)) params.note(key, "is not used: every step runs as a CUDA graph");
}

// A calibration is of the versions that have their constants alike. One of before versions were told says
// neither which its server was nor that it scheduled asynchronously, which was a key then.
void check_calibrated(Params& params, const KnownEngine& engine, const Calibration& calibration) {
  const std::optional<std::string> version =
      calibration.engine_version.empty() ? std::nullopt : std::optional(calibration.engine_version);
  const std::optional<KnownEngine> of = find_engine(calibration.engine, version);
  const bool named = of && !version && calibration.engine != of->family->kind;
  const std::string words = calibration.engine + (version ? " " + *version : "");
  const std::string here =
      engine.version.empty() ? engine.family->kind : engine.family->kind + " " + engine.version;
  const auto same_name = [&] {
    const std::optional<KnownEngine> again = find_engine(calibration.engine, engine.version);
    return again && again->problem.empty();
  };
  if (!of || !of->problem.empty() || of->family != engine.family || (named && !same_name()) ||
      (version && !of->row->preset.same_times(engine.row->preset)))
    params.fail("calibration", fmt::format("is of {}, and this engine is {}", words, here));
  else if (named && engine.row->preset.overlapped && !params.has("async_scheduling"))
    params.note("calibration",
                fmt::format("is of {} without a version, which had async_scheduling off when such files were "
                            "written, and {} has it on: \"async_scheduling\": false plays what was fitted",
                            words, here));
}

EnginePreset with_calibration(EnginePreset preset, const Calibration& calibration) {
  for (const auto& [time, given] : {std::pair{&preset.step_us, calibration.step_overhead_us},
                                    {&preset.sequence_us, calibration.sequence_overhead_us},
                                    {&preset.prompt_us, calibration.prompt_overhead_us}})
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

// `version` in the resolved scenario is the one in force, so that it means the same to a later Weir.
KnownEngine read_version(Params& params) {
  const std::string kind = params.choice(
      {"kind",
       "Its host time a step, its kernels and its collectives; vllm_v1 and vllm_v0 are names for versions "
       "of vllm."},
      names_of(engines()), "vllm");
  const std::optional<std::string> asked = params.text_or_null(
      {"version",
       "Of the engine, as \"0.10.2\": what it does by default changed (docs/models.md); null: the newest "
       "known."});
  KnownEngine engine = find_engine(kind, asked).value_or(find_engine("vllm", std::nullopt).value());
  if (!engine.problem.empty()) params.fail("version", engine.problem);
  if (!engine.note.empty()) params.note("version", engine.note);
  Reading& reading = params.reading();
  if (!params.describing() && !engine.version.empty())
    reading.resolved[Json::json_pointer(params.pointer() + "/version")] = engine.version;
  return engine;
}

}  // namespace

// It is asked before the engine is read, whose own reader says what is wrong with it.
bool limits_requests_by_memory(const Json* engine) {
  const auto text = [&](const char* key) -> std::optional<std::string> {
    if (!engine || !engine->is_object()) return {};
    const auto found = engine->find(key);
    return found != engine->end() && found->is_string() ? std::optional(found->get<std::string>())
                                                        : std::nullopt;
  };
  const std::optional<KnownEngine> known = find_engine(text("kind").value_or("vllm"), text("version"));
  return known && known->row->preset.requests_by_memory;
}

std::vector<NamedSummary> engines() {
  std::vector<NamedSummary> list;
  for (const EngineFamily& family : engine_families())
    for (const EngineName& name : family.names) {
      if (family.newest.empty()) {
        list.push_back({name.name, family.title});
        continue;
      }
      const EnginePreset& p = find_engine(name.name, std::nullopt)->row->preset;
      const bool whole = name.name == family.kind;
      list.push_back({name.name, fmt::format("{} {}; of {}: {:g} us a step, {:g} us a sequence", family.title,
                                             whole ? family.ranges() : name.first + " to " + name.last,
                                             name.last, p.step_us, p.sequence_us)});
    }
  return list;
}

EngineOverhead read_engine(Params& params, const Calibration& calibration) {
  const KnownEngine known = read_version(params);
  if (calibration.given()) check_calibrated(params, known, calibration);
  const EnginePreset preset = with_calibration(known.row->preset, calibration);
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
       "More a step where the replica has several devices, and a worker process each, for each round of "
       "messages to them (docs/models.md); by default the preset's, none beside step_overhead_us."},
      not_negative);
  const auto workers_sequence = params.quantity_or_null<Seconds>(
      {"worker_sequence_overhead_us", "Likewise more for each sequence of the batch."}, not_negative);
  const auto us = [&](double preset_us) { return Seconds(step ? 0 : preset_us * 1e-6); };
  EngineOverhead engine{.kind = known.family->kind,
                        .version = known.version,
                        .per_step = step.value_or(us(preset.step_us)),
                        .per_sequence = sequence.value_or(us(preset.sequence_us)),
                        .per_prompt = prompt.value_or(us(preset.prompt_us)),
                        .workers_per_step = workers_step.value_or(us(preset.worker_step_us)),
                        .workers_per_sequence = workers_sequence.value_or(us(preset.worker_sequence_us)),
                        .messages = preset.messages,
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
      not_negative, 0);
  engine.pipelined_chunks = params.flag(
      {"pipelined_chunks",
       "With several stages: a prompt's next chunk may enter the pipeline before the one before has left it; "
       "by default as the engine does (vLLM v1: yes, v0: no)."},
      preset.pipelined_chunks);
  return engine;
}

}  // namespace weir
