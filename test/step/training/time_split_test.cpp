// Parts of a training step's time, and how gradients fill buckets: small cases by hand.
#include "sim/step/training/time_split.h"

#include <catch2/catch.hpp>

#include "sim/step/training/gradient_buckets.h"

using namespace weir;

namespace {

// Units 0 to 6: host, cpu, gpu, copy, network, pairs, arm. Operator i runs on unit i; operator 7 ends a step.
// Operator 8 chooses between the arm and the CPU, where it waits for bytes for a quarter of its time.
TrainingPlan plan_by_hand() {
  TrainingPlan plan;
  plan.host = 0, plan.cpu = 1, plan.gpu = 2, plan.copy = 3, plan.network = 4, plan.pairs = 5, plan.arm = 6;
  for (const int unit : {0, 1, 2, 3, 4, 5, 6, 0}) {
    StepGraph::Alternative way;
    way.unit = unit;
    plan.graph.operators.push_back({"", 0, {way}});
    plan.vertex_of.push_back(-1);
  }
  StepGraph::Alternative arm, cpu;
  arm.unit = 6, cpu.unit = 1;
  plan.graph.operators.push_back({"", 0, {arm, cpu}});
  plan.vertex_of.push_back(1);
  plan.ends = {7};
  PlacedOperator by_arm, by_cpu;
  by_arm.moving = 0.5;  // counts of the CPU alone
  by_cpu.moving = 0.25;
  plan.ways = {{PlacedOperator{}}, {by_arm, by_cpu}};
  return plan;
}

OperatorRecord record(int op, double start, double finish, std::int64_t layer = 0, int alternative = 0) {
  return {op, layer, alternative, Seconds(start), Seconds(start), Seconds(finish)};
}

void check(const TimeSplit& split, double operation, double movement, double synchronisation) {
  CHECK(split.operation.value() == Approx(operation).margin(1e-12));
  CHECK(split.movement.value() == Approx(movement).margin(1e-12));
  CHECK(split.synchronisation.value() == Approx(synchronisation).margin(1e-12));
}

Tensor gradient(std::int64_t elements) {
  return {.name = "", .kind = TensorKind::gradient, .shape = {elements}};
}

TrainingOperator maker(std::vector<int> writes) {
  TrainingOperator op;
  op.phase = TrainingPhase::backward;
  op.writes = std::move(writes);
  return op;
}

TrainingOperator update(std::vector<int> reads) {
  TrainingOperator op;
  op.phase = TrainingPhase::update;
  op.reads = std::move(reads);
  return op;
}

}  // namespace

TEST_CASE("time split: what computes counts before what moves, and that before a host that waits") {
  const TrainingPlan plan = plan_by_hand();
  // The GPU from 0 to 4, a copy from 3 to 9, the host from 2 to 12, gradients from 11 to 13: computing to 4,
  // moving from 4 to 9, waiting from 9 to 11, moving to 13, and nothing until the step ends at 15.
  const std::vector<OperatorRecord> records = {record(2, 0, 4), record(3, 3, 9), record(0, 2, 12),
                                               record(4, 11, 13), record(7, 15, 15)};
  check(time_split(plan, records, 0), 4, 7, 2);
  // Pairs and cores in the memory compute, together or not.
  check(time_split(plan, std::vector<OperatorRecord>{record(5, 0, 4), record(6, 2, 7), record(7, 8, 8)}, 0),
        7, 0, 0);
}

TEST_CASE("time split: a CPU that waits for bytes moves them for that share of its time") {
  const TrainingPlan plan = plan_by_hand();
  check(time_split(plan, std::vector<OperatorRecord>{record(8, 0, 8, 0, 1), record(7, 8, 8)}, 0), 6, 2, 0);
  check(time_split(plan, std::vector<OperatorRecord>{record(8, 0, 8, 0, 0), record(7, 8, 8)}, 0), 8, 0, 0);
  // Beside a copy there is no more than all of the time; beside pairs it is all theirs.
  check(time_split(plan,
                   std::vector<OperatorRecord>{record(8, 0, 8, 0, 1), record(3, 0, 4), record(5, 4, 8),
                                               record(7, 8, 8)},
                   0),
        3 + 4, 1, 0);
  // On the CPU, anything that is none of the graph's operators computes.
  check(time_split(plan, std::vector<OperatorRecord>{record(1, 1, 3), record(7, 3, 3)}, 0), 2, 0, 0);
}

TEST_CASE("time split: a step is from the end of the one before to its own, whatever runs beyond it") {
  const TrainingPlan plan = plan_by_hand();
  const std::vector<OperatorRecord> records = {
      record(7, 10, 10, 0), record(7, 25, 25, 1),
      record(7, 31, 31, 2), record(2, 4, 13, 0),  // 3 s of it in the second step
      record(3, 20, 28, 2),                       // 5 s in the second, 3 s in the third
  };
  check(time_split(plan, records, 0), 6, 0, 0);
  check(time_split(plan, records, 1), 3, 5, 0);
  check(time_split(plan, records, 2), 0, 3, 0);
}

TEST_CASE("gradient buckets: one is full with just its size, and gradients of no update are in none") {
  TrainingGraph graph;
  for (const std::int64_t elements : {2, 3, 4, 1, 9}) graph.tensors.push_back(gradient(elements));
  auto& operators = graph.operators;
  boost::add_vertex(maker({0}), operators);
  boost::add_vertex(maker({1, 2}), operators);
  boost::add_vertex(maker({4, 3}), operators);
  boost::add_vertex(update({0, 1}), operators);
  boost::add_vertex(update({2}), operators);
  boost::add_vertex(update({3, 2}), operators);
  boost::add_vertex(maker({1}), operators);  // behind the updates in the list, as backward no less
  // They have 8, 12, 16, 4 and again 12 bytes: with 20 a bucket the first two fill one to the byte, then 16
  // and 4.
  const auto buckets = gradient_buckets(graph, Bytes(20));
  REQUIRE(buckets.size() == 3);
  CHECK(buckets[0].bytes == Bytes(20));
  CHECK(buckets[1].bytes == Bytes(20));
  CHECK(buckets[2].bytes == Bytes(12));
  using Vertices = std::vector<std::size_t>;
  CHECK(buckets[0].makers == Vertices{0, 1});
  CHECK(buckets[0].readers == Vertices{3});
  CHECK(buckets[1].makers == Vertices{1, 2});
  CHECK(buckets[1].readers == Vertices{4, 5});
  CHECK(buckets[2].makers == Vertices{6});
  // One byte more a bucket: 8, 12 and 16 are in the first.
  const auto larger = gradient_buckets(graph, Bytes(21));
  REQUIRE(larger.size() == 2);
  CHECK(larger[0].bytes == Bytes(36));
  CHECK(larger[1].bytes == Bytes(16));
}
