// What a step costs, summed and played: the step model against the timeline, operator by operator.
#include "sim/engine/step_model.h"

#include <catch2/catch.hpp>
#include <random>

#include "sim/app/reproduce/kernels.h"
#include "test/engine/random_step.h"
#include "test/engine/run_in_child.h"
#include "test/models/llm/models.h"

using namespace weir;
using test::uniform_int;

namespace {

template <class Interface>
std::shared_ptr<const Interface> policy(const Catalog<Interface>& table, const std::string& kind) {
  const Json json = {{"kind", kind}};
  Reading reading("test");
  auto made = make_from(table, Params(reading, json), {"kind", "which"});
  reading.finish();
  return made;
}

ReplicaSpec replica_on(const std::string& kind, const std::string& interconnect, const std::string& library) {
  ReplicaSpec replica;
  replica.on = catalog_device(kind);
  replica.links = find_interconnect(interconnect);
  replica.collectives = make_collectives(replica.links, library);
  replica.partitioning = policy(partitioning_policies(), "device_only");
  replica.prefetch = policy(prefetch_policies(), "none");
  replica.engine = {.kind = "test",
                    .per_step = Seconds(1e-3),
                    .per_sequence = Seconds(1e-5),
                    .collective_library = library};
  return replica;
}

struct RandomBatch {
  std::vector<PrefillChunk> chunks;
  BatchShape shape;

  explicit RandomBatch(std::mt19937_64& random) {
    const int kind = uniform_int(random, 0, 3);  // decodes; a prompt; a chunk of one; both
    for (int i = kind == 0 ? 0 : uniform_int(random, 1, 3); i > 0; --i) {
      chunks.push_back({uniform_int(random, 1, 2000), kind == 1 ? 0 : uniform_int(random, 0, 8000)});
      shape.prefill_tokens += chunks.back().tokens;
      shape.sequences += kind == 1;
    }
    for (int i = kind == 0 || kind == 3 ? uniform_int(random, 1, 200) : 0; i > 0; --i) {
      const std::int64_t context = uniform_int(random, 1, 6000);
      ++shape.decodes;
      ++shape.sequences;
      shape.decode_context_sum += context;
      shape.decode_context_max = std::max(shape.decode_context_max, context);
    }
    shape.prefill = chunks;
  }
};

// A step added up from the operators that the timeline ran, layer by layer.
struct Played {
  StepResult result;
  KernelCost sum;
};

Played play(const ReplicaSpec& replica, const StageGraph& placed, const BatchShape& batch, bool fold) {
  const DeviceSpec& spec = replica.on->spec();
  const StepGraph graph =
      stage_step({&placed, 1}, spec.units, spec.memory_bandwidth, replica.links.bandwidth).graph;
  Timeline timeline(graph);
  std::vector<KernelCost> costs;
  for (const OperatorGraph* part : {&placed.prologue, &placed.block, &placed.epilogue})
    for (const auto v : boost::make_iterator_range(boost::vertices(*part))) {
      costs.push_back(replica.on->cost((*part)[v], batch, *replica.collectives));
      set_cost(timeline, graph, static_cast<int>(costs.size()) - 1, costs.back());
    }
  Played played;
  std::vector<OperatorRecord> records;
  timeline.evaluate({.trace = &records});
  for (const OperatorRecord& record : records) {
    const KernelCost& cost = costs[static_cast<std::size_t>(record.op)];
    played.sum.flops += cost.flops;
    played.sum.memory += cost.memory;
    played.sum.link += cost.link;
    played.sum.energy += cost.energy;
  }
  played.result = timeline.evaluate({.fold = fold});
  return played;
}

template <class Quantity>
void check_near(Quantity a, Quantity b) {
  CHECK(a.value() == Approx(b.value()).epsilon(1e-9).margin(0));
}

void check_same(const StepCost& summed, const Played& played, Seconds host) {
  check_near(summed.time, played.result.total + host);
  check_near(summed.host_bound, host);
  check_near(summed.compute_bound + summed.memory_bound + summed.link_bound + summed.host_bound, summed.time);
  check_near(summed.flops, played.sum.flops);
  check_near(summed.memory, played.sum.memory);
  check_near(summed.link, played.sum.link);
  check_near(played.result.bytes[0], played.sum.memory);  // no kernel is faster than the memory
  check_near(summed.energy, played.sum.energy);
  for (std::size_t unit = 0; unit < played.result.busy.size(); ++unit)
    check_near(summed.busy[unit], played.result.busy[unit][0]);
}

Precision precision_on(const Device& device) {
  Precision precision;
  if (device.spec().peak(DataType::bf16) <= FlopsPerSecond(0))
    precision.weights = precision.activations = precision.kv_cache = DataType::fp16;
  return precision;
}

StageGraph place(const ReplicaSpec& replica, StageGraph stage) {
  return replica.prefetch->add_prefetches(
      replica.partitioning->place(std::move(stage), replica.on->spec().units));
}

Operator named(const OperatorGraph& graph, const std::string& name) {
  for (const auto v : boost::make_iterator_range(boost::vertices(graph)))
    if (graph[v].name == name) return graph[v];
  throw std::out_of_range(name);
}

// Attention and MLP side by side, each with an all-reduce of its own, which the other can compute beside.
StageGraph two_branches(const StageGraph& stage, bool serial) {
  OperatorGraph block;
  const auto add = [&](const char* name, std::vector<std::size_t> after) {
    const auto vertex = boost::add_vertex(named(stage.block, name), block);
    for (const auto from : after) boost::add_edge(from, vertex, block);
    return vertex;
  };
  const auto norm = add("layernorm", {});
  const auto attention = add("attention", {add("qkv_proj", {norm})});
  const auto first = add("all_reduce", {add("o_proj", {attention})});
  const auto up = add("gate_up_proj", {serial ? first : norm});
  add("all_reduce", {add("down_proj", {add("act_fn", {up})})});
  StageGraph made = stage;
  made.block = block;
  return made;
}

class TwoBranches final : public PartitioningPolicy {
 public:
  explicit TwoBranches(bool serial) : serial_(serial) {}
  StageGraph place(StageGraph stage, std::span<const std::string> units) const override {
    return two_branches(policy(partitioning_policies(), "device_only")->place(std::move(stage), units),
                        serial_);
  }

 private:
  bool serial_;
};

}  // namespace

TEST_CASE("step model: summed and played, a GPU's step takes the same time, bytes and energy on every device",
          "[engine]") {
  std::mt19937_64 random(5);
  const std::vector<std::string> interconnects = {"nvlink4_switch", "nvlink3_switch", "hccs_mesh",
                                                  "pcie4_x16"};
  for (const std::string& kind : device_names()) {
    int steps = 0;
    for (const char* model :
         {"llama3.1-8b", "falcon-40b", "mixtral-8x7b", "qwen3-30b-a3b", "opt-13b", "gpt-89b"})
      for (const Sharding& cut :
           {Sharding{1, 1, 1}, Sharding{2, 3, 1}, Sharding{4, 2, 2}, Sharding{8, 1, 1}}) {
        const Architecture architecture = catalog_model(model);
        if (!sharding_problems(architecture, cut).empty()) continue;
        const bool fast = catalog_device(kind)->spec().memory_bandwidth > BytesPerSecond(1e12);
        const ReplicaSpec replica = replica_on(
            kind, fast ? interconnects[static_cast<std::size_t>(uniform_int(random, 0, 3))] : "pcie4_x16",
            uniform_int(random, 0, 1) ? "vllm" : "");
        for (int stage = 0; stage < cut.pipeline; ++stage) {
          CAPTURE(kind, model, cut.tensor, cut.pipeline, stage, replica.links.name);
          const StageGraph placed =
              place(replica, build_stage(architecture, precision_on(*replica.on), cut, stage));
          if (!replica.on->cannot_run(placed).empty()) continue;
          const StepModel summed(replica, placed, false);
          REQUIRE(summed.serial());
          for (int i = 0; i < 3; ++i, ++steps) {
            const RandomBatch batch(random);
            const Seconds host = Seconds(1e-3) + static_cast<double>(batch.shape.sequences) * Seconds(1e-5);
            check_same(summed.step(batch.shape), play(replica, placed, batch.shape, i > 0), host);
          }
        }
      }
    CAPTURE(kind);
    CHECK(steps > 30);
  }
}

TEST_CASE("step model: of every model and cut, a stage on a GPU runs one operator at a time", "[engine]") {
  const ReplicaSpec replica = replica_on("h100_sxm", "nvlink4_switch", "");
  int stages = 0;
  for (const Architecture& model : catalog_and_random_models())
    for (const Sharding& cut : shardings(model)) {
      if (cut.tensor > 4 || cut.pipeline > 2) continue;
      for (int stage = 0; stage < cut.pipeline; ++stage, ++stages) {
        CAPTURE(model.name, to_string(cut));
        REQUIRE(StepModel(replica, place(replica, build_stage(model, {}, cut, stage)), false).serial());
      }
    }
  CHECK(stages > 500);
}

TEST_CASE("step model: where an all-reduce hides under the other branch, the step is shorter, not cheaper",
          "[engine]") {
  std::mt19937_64 random(6);
  const ReplicaSpec replica = replica_on("h100_sxm", "nvlink4_switch", "");
  const StageGraph stage =
      place(replica, build_stage(catalog_model("llama3.1-70b"), {}, {.tensor = 8, .pipeline = 1}, 0));
  const StageGraph beside = two_branches(stage, false);
  const StepModel overlapping(replica, beside, false), one_by_one(replica, two_branches(stage, true), false);
  REQUIRE_FALSE(overlapping.serial());
  REQUIRE(one_by_one.serial());
  for (int i = 0; i < 50; ++i) {
    const RandomBatch batch(random);
    const StepCost cost = overlapping.step(batch.shape), sum = one_by_one.step(batch.shape);
    const Seconds host = cost.host_bound;
    check_same(cost, play(replica, beside, batch.shape, false), host);
    CHECK(cost.time < sum.time);
    CHECK(cost.time - host >= cost.busy[0]);
    CHECK(cost.time - host >= cost.busy[1]);
    // Nothing computes under the second all-reduce: the next layer waits for it.
    CHECK(cost.time - host > sum.time - host - 0.51 * sum.busy[1]);
    check_near(cost.energy, sum.energy);
    check_near(cost.memory, sum.memory);
    check_near(cost.flops, sum.flops);
  }
  CHECK_THROWS_WITH(StepModel(replica, beside, true), Catch::Contains("flows"));
}

TEST_CASE("step model: a run of decodes is its steps one by one, summed or played", "[engine]") {
  std::mt19937_64 random(7);
  const ReplicaSpec replica = replica_on("a100_sxm_80gb", "nvlink3_switch", "vllm");
  const StageGraph stage =
      place(replica, build_stage(catalog_model("llama2-70b"), {}, {.tensor = 4, .pipeline = 1}, 0));
  for (const StageGraph& placed : {stage, two_branches(stage, false)}) {
    const StepModel model(replica, placed, false);
    for (int round = 0; round < 20; ++round) {
      BatchShape shape;
      shape.decodes = shape.sequences = uniform_int(random, 1, 100);
      shape.decode_context_max = uniform_int(random, 100, 5000);
      shape.decode_context_sum = shape.decodes * shape.decode_context_max - uniform_int(random, 0, 99);
      const std::int64_t wanted = uniform_int(random, 1, 300);
      std::vector<StepRun> runs;
      const std::int64_t covered = model.decode_run(shape, wanted, runs);
      CHECK((model.serial() ? covered == wanted : covered >= 1 && covered <= wanted));
      StepCost sum, by_run;
      std::int64_t steps = 0;
      for (const StepRun& run : runs) {
        by_run += run.total(run.steps);
        steps += run.steps;
      }
      REQUIRE(steps == covered);
      for (; steps > 0; --steps) {
        sum += model.step(shape);
        shape.decode_context_sum += shape.decodes;
        ++shape.decode_context_max;
      }
      check_near(by_run.time, sum.time);
      check_near(by_run.energy, sum.energy);
      check_near(by_run.memory, sum.memory);
      check_near(by_run.busy[0], sum.busy[0]);
      check_near(by_run.busy[1], sum.busy[1]);
    }
  }
}

TEST_CASE("step model: drawn operators fill the step, the host first", "[engine]") {
  std::mt19937_64 random(8);
  const ReplicaSpec replica = replica_on("h100_sxm", "nvlink4_switch", "vllm");
  const StageGraph stage =
      place(replica, build_stage(catalog_model("llama3.1-70b"), {}, {.tensor = 4, .pipeline = 2}, 1));
  for (const bool serial : {true, false}) {
    const StepModel model(replica, two_branches(stage, serial), false);
    const RandomBatch batch(random);
    const StepCost cost = model.step(batch.shape);
    std::array<Seconds, 2> busy{}, until{cost.host_bound, cost.host_bound};
    auto spans = model.operators(batch.shape);
    std::stable_sort(spans.begin(), spans.end(), [](auto& a, auto& b) { return a.start < b.start; });
    for (const auto& span : spans) {
      const auto unit = static_cast<std::size_t>(span.unit);
      CHECK(span.start >= until[unit] * (1 - 1e-12));  // never two at once on one unit
      until[unit] = span.finish;
      busy[unit] += span.finish - span.start;
    }
    check_near(std::max(until[0], until[1]), cost.time);
    check_near(busy[0], cost.busy[0]);
    check_near(busy[1], cost.busy[1]);
  }
}

TEST_CASE("step model: a policy whose operators overlap is served faster, fast-forward or not", "[engine]") {
  Json scenario = test::small_scenario();
  scenario["serving"]["replicas"][0]["parallelism"] = {{"tensor", 4}};
  const auto served = [&](bool serial, bool fast_forward) {
    scenario["fast_forward"] = fast_forward;
    return test::run(scenario, [serial](Scenario& read) {
      read.replicas[0].partitioning = std::make_shared<TwoBranches>(serial);
    });
  };
  const test::Outcome overlapped = served(false, true), step_by_step = served(false, false),
                      one_by_one = served(true, true);
  for (const test::Outcome* outcome : {&overlapped, &step_by_step, &one_by_one})
    REQUIRE(outcome->error == "");
  CHECK(overlapped.iterations == step_by_step.iterations);
  CHECK(overlapped.energy == Approx(step_by_step.energy));
  CHECK(overlapped.gap_mean == Approx(step_by_step.gap_mean));
  for (std::size_t i = 0; i < overlapped.requests.size(); ++i)
    CHECK(overlapped.requests[i].finished.value() ==
          Approx(step_by_step.requests[i].finished.value()).epsilon(1e-9));
  CHECK(overlapped.gap_mean < 0.97 * one_by_one.gap_mean);
}
