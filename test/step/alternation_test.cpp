// Two batches that take turns as engines have them: which kernel is in which turn, and steps of wide expert
// parallelism that no faster resource makes longer.
#include "sim/step/alternation.h"

#include <catch2/catch.hpp>

#include "models/llm/parts/without_prompts.h"
#include "sim/plan/plan.h"
#include "sim/serving/replica/two_batches.h"
#include "sim/step/step_model.h"
#include "test/step/timeline/random_step.h"

namespace weir::test::alternation {
namespace {

Json wide(const std::string& model, int nodes, const std::string& engine) {
  const bool deepseek = model == "deepseek-r1";
  const std::string type = deepseek ? "fp8_block" : "fp8";
  const int ranks = 8 * nodes;
  return {{"model", model},
          {"precision", {{"weights", type}, {"activations", type}, {"kv_cache", "bf16"}}},
          {"cluster",
           {{"nodes",
             {{{"count", nodes},
               {"devices", {{{"kind", "h200_sxm"}, {"count", 8}}}},
               {"interconnect", {{"base", "nvlink4_switch"}}}}}},
            {"network", {{"link_bandwidth_gb_per_s", 50}, {"link_latency_us", 2}}}}},
          {"serving",
           {{"replicas",
             {{{"parallelism", {{"tensor", 1}, {"attention_data", ranks}, {"expert", ranks}}},
               {"communication", "deepep"},
               {"engine", {{"kind", engine}, {"two_batch_overlap", true}}}}}}}},
          {"workload",
           {{"requests", {{"kind", "fixed"}, {"count", 1}, {"input_tokens", 10}, {"output_tokens", 10}}},
            {"arrivals", {{"kind", "all_at_once"}}}}}};
}

// The turns of a layer's kernels, by name.
std::map<std::string, std::set<int>> turns(const std::string& engine, bool prompts, int& all,
                                           const std::string& model = "deepseek-r1") {
  const Plan plan = read_plan(wide(model, 4, engine), "test.json");
  const Alternations& how = *plan.replicas[0].rank.alternations;
  const StageGraph& stage = plan.replicas[0].stages[0];
  const OperatorGraph layer =
      (prompts ? stage : without_prompts(stage)).parts[model == "deepseek-r1" ? 2 : 1].operators;
  const LayerTurns turns = turns_of(layer, prompts ? how.prompts : how.decodes);
  all = turns.all;
  std::map<std::string, std::set<int>> named;
  for (std::size_t v = 0; v < turns.of.size(); ++v) named[layer[v].name].insert(turns.of[v]);
  return named;
}

struct Step {
  std::vector<BatchShape> ranks;
  std::vector<PrefillChunk> chunks;
};

// Every rank has the same, one a little more.
Step random_step_of(std::mt19937_64& random, int ranks, bool prompts) {
  Step step;
  step.chunks = {{uniform_int(random, 2, 4096), uniform_int(random, 0, 4096)}};
  const std::int64_t decodes = uniform_int(random, 2, 256), context = uniform_int(random, 1, 8192);
  for (int rank = 0; rank < ranks; ++rank) {
    BatchShape batch;
    if (prompts) {
      batch.prefill = step.chunks;
      batch.prefill_tokens = step.chunks[0].tokens;
      batch.sequences = 1;
    } else {
      batch.decodes = batch.sequences = decodes + (rank == 0);
      batch.decode_context_sum = batch.decodes * context;
      batch.decode_context_max = context;
    }
    step.ranks.push_back(batch);
  }
  return step;
}

double seconds(const Json& scenario, const Step& step) {
  const Plan plan = read_plan(scenario, "test.json");
  const StepModel model(plan.replicas[0].rank, plan.replicas[0].stages[0], false);
  const BatchShape whole = in_lockstep(step.ranks);
  TwoBatches two;
  return model.step({whole, two.cut(whole)}).time.value();
}

}  // namespace

// operations_strategy.py of SGLang: four yields a layer of decodes and the one that ends the wait for
// results.
TEST_CASE("alternation: SGLang's decodes have five turns a layer, the second batch two behind") {
  int all = 0;
  const auto of = turns("sglang", false, all);
  CHECK(all == 5);
  using Turn = std::set<int>;
  CHECK(of.at("mla_q_proj") == Turn{0});
  CHECK(of.at("mla_absorb") == Turn{0});
  CHECK(of.at("attention") == Turn{1});
  CHECK(of.at("mla_o_proj") == Turn{1});
  CHECK(of.at("moe_router") == Turn{1});
  CHECK(of.at("moe_dispatch") == Turn{2});
  CHECK(of.at("gate_up_proj") == Turn{2});  // the shared expert's
  CHECK(of.at("moe_gate_up") == Turn{3});
  CHECK(of.at("moe_combine") == Turn{3});
  CHECK(of.at("moe_shared_sum") == Turn{5});  // with the next layer's first
  const Plan plan = read_plan(wide("deepseek-r1", 4, "sglang"), "test.json");
  CHECK(plan.replicas[0].rank.alternations->decodes.behind == 2);
  CHECK(plan.replicas[0].rank.alternations->prompts.behind == 0);
}

TEST_CASE("alternation: prompts, and all batches of vLLM, have two turns a layer") {
  using Turn = std::set<int>;
  for (const char* engine : {"sglang", "vllm_v1"})
    for (const bool prompts : {true, false}) {
      if (!prompts && std::string(engine) == "sglang") continue;
      INFO(engine << " " << prompts);
      int all = 0;
      const auto of = turns(engine, prompts, all);
      CHECK(all == 2);
      for (const char* name : {"mla_q_proj", "attention", "moe_router", "moe_dispatch"})
        CHECK(of.at(name) == Turn{0});
      for (const char* name : {"moe_gate_up", "moe_down", "moe_combine"}) CHECK(of.at(name) == Turn{1});
      CHECK(of.at("moe_shared_sum") == Turn{2});
      CHECK(of.at("gate_up_proj") == Turn{std::string(engine) == "sglang" ? 2 : 1});
    }
}

TEST_CASE("alternation: without a shared expert what comes behind the results is the next layer's") {
  int all = 0;
  const auto of = turns("sglang", false, all, "qwen3-235b-a22b");
  CHECK(all == 5);
  CHECK(of.at("moe_combine") == std::set<int>{3});
  CHECK(of.at("qkv_proj") == std::set<int>{0});
}

// Fixed orders have none of Graham's anomalies (1969). An exchange also moves its bytes through the memory,
// beside kernels: where it is faster, more of them fall on one that is bound by memory. They are a few
// thousandths of what a step moves; 0.21 % is the most that these steps show.
TEST_CASE("alternation: no faster network, link, memory or arithmetic makes a step longer", "[engine]") {
  constexpr double tolerance = 4e-3;
  std::mt19937_64 random(44);
  for (int round = 0; round < 40; ++round) {
    const int nodes = std::vector{1, 2, 4, 8}[static_cast<std::size_t>(round % 4)];
    const bool prompts = round % 5 == 0;
    const char* engine = round % 3 == 0 ? "vllm_v1" : "sglang";
    const char* model = round % 7 == 0 ? "qwen3-235b-a22b" : "deepseek-r1";
    Json scenario = wide(model, nodes, engine);
    const Step step = random_step_of(random, 8 * nodes, prompts);
    if (round % 2 == 0)
      scenario["serving"]["replicas"][0]["experts"] = {{"distribution", "power_law"},
                                                       {"exponent", uniform(random, 0.5, 1.2)}};
    Json& cluster = scenario["cluster"];
    Json &node = cluster["nodes"][0], &device = node["devices"][0];
    struct Resource {
      const char* name;
      Json* where;
      std::map<std::string, double> usual;
    };
    const std::vector<Resource> resources = {
        {"network", &cluster["network"], {{"link_bandwidth_gb_per_s", 50}}},
        {"link", &node["interconnect"], {{"bandwidth_gb_per_s", 357}}},
        {"memory", &device, {{"memory_bandwidth_gb_per_s", 4800}}},
        {"arithmetic", &device, {{"fp8_tflops", 1978.9}, {"bf16_tflops", 989.4}, {"fp16_tflops", 989.4}}}};
    for (const auto& [name, where, usual] : resources) {
      const Json before = *where;
      double slower = 0;
      double at = uniform(random, 0.3, 1);
      for (int i = 0; i < 5; ++i, at *= uniform(random, 1.02, 1.6)) {
        for (const auto& [key, value] : usual) (*where)[key] = at * value;
        const double now = seconds(scenario, step);
        INFO(name << " x " << at << ", " << model << ", " << nodes << " nodes, " << engine
                  << (prompts ? ", prompts" : ""));
        if (slower > 0) CHECK(now <= slower * (1 + tolerance));
        slower = now;
      }
      *where = before;
    }
  }
}

}  // namespace weir::test::alternation
