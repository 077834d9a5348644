#include "sim/step/stage_step.h"
#include "test/models/llm/parts.h"

#include "test/policies/units.h"

#include <catch2/catch.hpp>

using namespace weir;
using test::units;

namespace {

const std::vector<Resource> resources = {{"memory", BytesPerSecond(100)}, {"link", BytesPerSecond(50)}};

void add_in_a_row(OperatorGraph& graph, const std::vector<std::pair<std::string, int>>& operators) {
  for (const auto& [name, unit] : operators) {
    Operator op;
    op.name = name;
    op.unit = unit;
    if (unit == 1) op.kernel = Communication();
    const auto vertex = boost::add_vertex(op, graph);
    if (vertex > 0) boost::add_edge(vertex - 1, vertex, graph);
  }
}

StageGraph small_stage(std::int64_t layers) {
  StageGraph stage;
  add_in_a_row(part(stage, "prologue"), {{"embedding", 0}});
  add_in_a_row(part(stage, "block"), {{"qkv_proj", 0}, {"attention", 0}, {"all_reduce", 1}});
  add_in_a_row(part(stage, "epilogue"), {{"lm_head", 0}});
  set_layers(stage, layers);
  return stage;
}

KernelCost cost(double seconds, double memory, double link = 0) {
  KernelCost cost;
  cost.time = Seconds(seconds);
  cost.moved[own_memory] = Bytes(memory);
  cost.moved[interconnect] = Bytes(link);
  return cost;
}

void set_block(Timeline& timeline, const StepGraph& graph, int first) {
  set_cost(timeline, graph, first, cost(3, 300));
  set_cost(timeline, graph, first + 1, cost(2, 100));
  set_cost(timeline, graph, first + 2, cost(4, 0, 60));
}

}  // namespace

TEST_CASE("stage step: a model on one GPU takes the sum of its kernels and moves their bytes", "[timeline]") {
  const StageGraph stage = small_stage(10);
  const StageStep step = stage_step({&stage, 1}, units({"gpu", "link"}), resources);
  Timeline timeline(step.graph);
  set_cost(timeline, step.graph, step.chains[0][0], cost(1, 10));
  set_block(timeline, step.graph, step.chains[0][1]);
  set_cost(timeline, step.graph, step.chains[0][2], cost(5, 400));
  const StepResult result = timeline.evaluate();
  CHECK(result.total.value() == Approx(1 + 10 * (3 + 2 + 4) + 5));
  CHECK(result.bytes[0].value() == Approx(10 + 10 * 400 + 400));
  CHECK(result.bytes[1].value() == Approx(600));
  CHECK(result.busy[0][0].value() == Approx(1 + 10 * 5 + 5));
  CHECK(result.busy[1][0].value() == Approx(40));
  CHECK(step.graph.serial());
}

TEST_CASE("stage step: what an early prefetch is for starts without it, and what follows waits for both",
          "[timeline]") {
  StageGraph stage = small_stage(10);
  Operator fetch;
  fetch.kernel = Prefetch();
  fetch.unit = 2;
  const auto early = boost::add_vertex(fetch, part(stage, "block"));
  boost::add_edge(early, 0, part(stage, "block"));
  stage.early.push_back({1, static_cast<std::size_t>(early), 1, 1});  // starts with the all-reduce
  const StageStep step = stage_step({&stage, 1}, units({"gpu", "link", "prefetch"}), resources);
  const auto total = [&](double seconds) {
    Timeline timeline(step.graph);
    set_cost(timeline, step.graph, step.chains[0][0], cost(1, 0));
    set_block(timeline, step.graph, step.chains[0][1]);
    set_cost(timeline, step.graph, step.chains[0][1] + static_cast<int>(early), cost(seconds, 0));
    set_cost(timeline, step.graph, step.chains[0][2], cost(5, 0));
    return timeline.evaluate().total.value();
  };
  const double without = 1 + 10 * (3 + 2 + 4) + 5;
  CHECK(total(1) == Approx(without));
  CHECK(total(4) == Approx(without));          // the first one starts with the step
  CHECK(total(7) == Approx(without + 3));      // all others still end with their readers
  CHECK(total(8) == Approx(without + 4 + 9));  // 1 beyond every all-reduce and reader but the last
}

TEST_CASE("stage step: a prefetch for what ends a layer ends it too", "[timeline]") {
  StageGraph stage = small_stage(10);
  part(stage, "block").clear();
  add_in_a_row(part(stage, "block"), {{"all_reduce", 1}, {"attention", 0}});
  Operator fetch;
  fetch.kernel = Prefetch();
  fetch.unit = 2;
  boost::add_edge(boost::add_vertex(fetch, part(stage, "block")), 1, part(stage, "block"));
  const StageStep step = stage_step({&stage, 1}, units({"gpu", "link", "prefetch"}), resources);
  const auto total = [&](double seconds) {
    Timeline timeline(step.graph);
    set_cost(timeline, step.graph, step.chains[0][0], cost(1, 0));
    set_cost(timeline, step.graph, step.chains[0][1], cost(4, 0, 60));
    set_cost(timeline, step.graph, step.chains[0][1] + 1, cost(2, 100));
    set_cost(timeline, step.graph, step.chains[0][1] + 2, cost(seconds, 0));
    set_cost(timeline, step.graph, step.chains[0][2], cost(5, 0));
    return timeline.evaluate().total.value();
  };
  CHECK(total(6) == Approx(1 + 10 * (4 + 2) + 5));
  CHECK(total(8) == Approx(1 + 10 * 8 + 5));
}

TEST_CASE("stage step: of two sub-batches one computes while the other communicates", "[timeline]") {
  const std::vector<StageGraph> stages{small_stage(10), small_stage(10)};
  const StageStep step = stage_step(stages, units({"gpu", "link"}), resources);
  Timeline timeline(step.graph);
  for (const auto& chain : step.chains) set_block(timeline, step.graph, chain[1]);
  // The GPU is the busier: 2 x 5 s a layer. It idles from 10 s until the first all-reduce ends at 12; the
  // last is seen.
  CHECK(timeline.evaluate().total.value() == Approx(2 + 10 * 2 * 5 + 4));
}

TEST_CASE("stage step: a stage in the middle of a pipeline has only its block", "[timeline]") {
  StageGraph stage = small_stage(7);
  std::erase_if(stage.parts, [](const Part& part) { return part.name != "block"; });
  const StageStep step = stage_step({&stage, 1}, units({"gpu", "link"}), resources);
  Timeline timeline(step.graph);
  set_block(timeline, step.graph, step.chains[0][0]);
  CHECK(timeline.evaluate().total.value() == Approx(7 * 9));
}

TEST_CASE(
    "stage step: sub-batches of different depth and units that are not there or run other kinds are refused",
    "[timeline]") {
  const std::vector<StageGraph> stages{small_stage(10), small_stage(9)};
  CHECK_THROWS_AS(stage_step(stages, units({"gpu", "link"}), resources), std::invalid_argument);
  const StageGraph stage = small_stage(2);
  CHECK_THROWS_AS(stage_step({&stage, 1}, units({"gpu"}), resources), std::invalid_argument);
  CHECK_THROWS_AS(stage_step({&stage, 1}, units({"gpu", "prefetch"}), resources), std::invalid_argument);
}

TEST_CASE("stage step: a draw is the bytes over the time and what its unit withholds, at most all there is",
          "[timeline]") {
  const std::vector<Resource> three = {
      {"memory", BytesPerSecond(100)}, {"link", BytesPerSecond(50)}, {"host", BytesPerSecond(20)}};
  std::vector<Unit> all = units({"gpu", "link"});
  all[0].ports = {{own_memory, 0}, {2, 0.25}};
  all[1].ports = {{interconnect, 0.5}};
  const StageGraph stage = small_stage(3);
  const StageStep step = stage_step({&stage, 1}, all, three);
  Timeline timeline(step.graph);
  const int qkv = step.chains[0][1], reduce = qkv + 2;
  const auto rates = [&](int op) {
    std::vector<double> values;
    for (const BytesPerSecond rate : timeline.rates(op)) values.push_back(rate.value());
    return values;
  };
  KernelCost kernel = cost(4, 240, 80);
  kernel.moved[2] = Bytes(8);
  set_cost(timeline, step.graph, qkv, kernel);
  set_cost(timeline, step.graph, reduce, kernel);
  // 240 over 4 s, 8 over 4 s beside a quarter of 20; and 80 over 4 s beside half of 50.
  CHECK(rates(qkv) == std::vector<double>{60, 2 + 5});
  CHECK(rates(reduce) == std::vector<double>{20 + 25});
  kernel.time = Seconds(1);
  set_cost(timeline, step.graph, qkv, kernel);
  set_cost(timeline, step.graph, reduce, kernel);
  CHECK(rates(qkv) == std::vector<double>{100, 8 + 5});
  CHECK(rates(reduce) == std::vector<double>{50});
  kernel.time = Seconds(0);
  set_cost(timeline, step.graph, qkv, kernel);
  CHECK(rates(qkv) == std::vector<double>{0, 0});
}

TEST_CASE("stage step: an operator has all members of its unit, or the one that it names", "[timeline]") {
  std::vector<Unit> all = units({"gpu", "link"});
  all[0].members = 3;
  StageGraph stage = small_stage(2);
  part(stage, "block")[1].member = 2;
  const StageStep step = stage_step({&stage, 1}, all, resources);
  const auto members = [&](int op) {
    std::vector<int> found;
    for (const StepGraph::Portion& portion :
         step.graph.operators[static_cast<std::size_t>(op)].alternatives[0].portions)
      found.push_back(portion.member);
    return found;
  };
  CHECK(members(step.chains[0][1]) == std::vector<int>{0, 1, 2});
  CHECK(members(step.chains[0][1] + 1) == std::vector<int>{2});
  CHECK(members(step.chains[0][1] + 2) == std::vector<int>{0});
}

TEST_CASE("stage step: a unit is slowed on one resource at most, by as much as its port says", "[timeline]") {
  const StageGraph stage = small_stage(2);
  std::vector<Unit> all = units({"gpu", "link"});
  all[0].ports = {{own_memory, 0}, {interconnect, 0, 0.75}};
  const StageStep step = stage_step({&stage, 1}, all, resources);
  CHECK(step.graph.units[0].disturbance.resource == interconnect);
  CHECK(step.graph.units[0].disturbance.most == 0.75);
  CHECK(step.graph.units[1].disturbance.resource == -1);
  all[0].ports[0].slowed = 0.5;
  CHECK_THROWS_WITH(stage_step({&stage, 1}, all, resources), Catch::Contains("slowed on two resources"));
  all = units({"gpu", "link"});
  for (const int resource : {-1, 2}) {
    all[1].ports = {{resource, 0}};
    CHECK_THROWS_WITH(stage_step({&stage, 1}, all, resources), Catch::Contains("a resource that is not"));
  }
  const std::vector<Resource> most(most_resources, resources[0]), more(most_resources + 1, resources[0]);
  CHECK_NOTHROW(stage_step({&stage, 1}, units({"gpu", "link"}), most));
  CHECK_THROWS_WITH(stage_step({&stage, 1}, units({"gpu", "link"}), more), Catch::Contains("7 resources"));
}
