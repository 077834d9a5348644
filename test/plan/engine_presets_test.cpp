// What a scenario says of an engine, and what its preset says where it does not.
#include <catch2/catch.hpp>

#include "sim/plan/scenario_parts.h"
#include "test/serving/run_in_child.h"

using namespace weir;

namespace {

EngineOverhead engine_of(const Json& json) {
  Reading reading("s.json");
  Params params(reading, json);
  const EngineOverhead engine = read_engine(params);
  params.close();
  reading.finish();
  return engine;
}

std::vector<std::string> notes_of(const Json& json) {
  Reading reading("s.json");
  Params params(reading, json);
  read_engine(params);
  return reading.notes();
}

Json one_replica(int tensor, const Json& engine) {
  Json s = test::small_scenario();
  s["cluster"] = {{"nodes", Json::array({{{"devices", Json::array({{{"kind", "h100_sxm"}, {"count", 2}}})},
                                          {"interconnect", "nvlink4_switch"}}})}};
  s["serving"]["replicas"] = Json::array({{{"parallelism", {{"tensor", tensor}}}, {"engine", engine}}});
  return s;
}

}  // namespace

TEST_CASE("engine keys: each stands in for what the preset has, and for nothing else") {
  const EngineOverhead preset = engine_of({{"kind", "vllm_v0"}});
  CHECK(preset.launch > Seconds(0));
  CHECK(preset.per_prompt > Seconds(0));
  CHECK(preset.graphs.sizes == CudaGraphs::Sizes::none);
  const EngineOverhead prompts = engine_of({{"kind", "vllm_v0"}, {"prompt_overhead_us", 7}});
  CHECK(prompts.per_prompt.value() == Approx(7e-6));
  CHECK(prompts.per_step == preset.per_step);
  CHECK(prompts.per_sequence == preset.per_sequence);
  CHECK(prompts.launch == preset.launch);
}

TEST_CASE("engine keys: the time of a step alone stands for all of the host's time between steps") {
  const EngineOverhead engine = engine_of({{"kind", "vllm_v0"}, {"step_overhead_us", 100}});
  CHECK(engine.per_step.value() == Approx(1e-4));
  CHECK(engine.per_sequence == Seconds(0));
  CHECK(engine.per_prompt == Seconds(0));
  CHECK(engine.workers_per_step == Seconds(0));
  CHECK(engine.launch > Seconds(0));  // launches are beside kernels, not between steps
}

TEST_CASE("engine keys: a rank pays for workers where the replica has several devices") {
  const Json engine = {{"worker_step_overhead_us", 300}, {"worker_sequence_overhead_us", 10}};
  const EngineOverhead one = read_plan(one_replica(1, engine), "s.json").replicas[0].rank.engine;
  const EngineOverhead two = read_plan(one_replica(2, engine), "s.json").replicas[0].rank.engine;
  CHECK((two.per_step - one.per_step).value() == Approx(3e-4));
  CHECK((two.per_sequence - one.per_sequence).value() == Approx(1e-5));
}

TEST_CASE("engine keys: what no step uses is noted where it was given") {
  CHECK(notes_of({{"kind", "vllm_v0"}}).empty());
  CHECK(notes_of({{"kind", "vllm_v0"}, {"cuda_graphs", "every_size"}}).empty());
  CHECK(notes_of({{"launch_us", 50}, {"cuda_graph_max_rows", 512}, {"cuda_graph_prompts", true}}).empty());
  CHECK(notes_of({{"launch_us", 5}, {"cuda_graphs", "every_size"}}).size() == 1);
  CHECK(notes_of({{"launch_us", 5}, {"cuda_graphs", "every_size"}, {"cuda_graph_prompts", false}}).empty());
  CHECK(notes_of({{"cuda_graph_max_rows", 64}, {"cuda_graphs", "every_size"}}).size() == 1);
  CHECK(notes_of({{"cuda_graph_max_rows", 64}}).empty());
  CHECK(notes_of({{"cuda_graph_prompts", false}, {"cuda_graphs", "off"}}).size() == 1);
}

TEST_CASE("engine keys: wrong ones are told at their pointers, all at once") {
  Reading reading("s.json");
  const Json wrong = {
      {"kind", "vlm_v1"}, {"cuda_graphs", "some"}, {"cuda_graph_max_rows", 0}, {"launch_us", -1}};
  Params params(reading, wrong);
  read_engine(params);
  try {
    reading.finish();
    FAIL("nothing was told");
  } catch (const ConfigError& error) {
    const std::string what = error.what();
    for (const char* key : {"/kind", "/cuda_graphs", "/cuda_graph_max_rows", "/launch_us"}) {
      INFO(what);
      CHECK(what.find(key) != std::string::npos);
    }
  }
}

TEST_CASE("engine keys: collectives may be of another library than the kernels") {
  CHECK(engine_of({{"kind", "vllm_v1"}}).collectives == "vllm");
  const EngineOverhead fused = engine_of({{"kind", "vllm_v1"}, {"collectives", "trtllm"}});
  CHECK(fused.library == "vllm");
  CHECK(fused.collectives == "trtllm");
  // FlashInfer's kernel on two B200 is not vLLM's own.
  const auto time = [](const Json& engine) {
    Json s = one_replica(2, engine);
    s["cluster"]["nodes"][0]["devices"][0]["kind"] = "b200_sxm";
    s["cluster"]["nodes"][0]["interconnect"] = "nvlink5_switch";
    return read_plan(s, "s.json")
        .replicas[0]
        .rank.collectives->time(Collective::all_reduce, Bytes(65536), 2)
        .value();
  };
  CHECK(time({{"collectives", "trtllm"}}) < time({{"collectives", "engine"}}));
  CHECK_THROWS_AS(engine_of({{"collectives", "gloo"}}), ConfigError);
}
