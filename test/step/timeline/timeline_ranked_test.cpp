// Units whose operators start in an order that is fixed before the step.
#include <catch2/catch.hpp>

#include "sim/step/timeline/timeline.h"
#include "test/step/timeline/random_step.h"

namespace weir::test::ranked_step {
namespace {

constexpr int gpu = 0, link = 1;

struct Kernel {
  int unit, turn;
};
// A layer of one batch: attention, its tokens sent, experts, their results sent, the rest.
constexpr Kernel kernels[] = {{gpu, 0}, {link, 0}, {gpu, 1}, {link, 1}, {gpu, 2}};
constexpr int turns = 2;

// Two batches, the second so many turns behind, or each as it can.
StepGraph two_batches(std::int64_t layers, int behind, bool ranked = true) {
  StepGraph graph;
  graph.add_unit("gpu");
  graph.add_unit("link");
  int last[2] = {-1, -1};
  for (const std::int64_t times : {std::int64_t{1}, layers, std::int64_t{1}}) {
    graph.add_part("part", times);
    graph.parts.back().ranks_per_layer = 2 * turns;
    for (int batch = 0; batch < 2; ++batch) {
      int first = -1, before = -1;
      for (const Kernel& kernel : kernels) {
        const int op = graph.add_operator("kernel", {{kernel.unit, {{0, Seconds(1)}}, {}}});
        if (ranked) graph.operators.back().rank = 2 * (kernel.turn + batch * behind) + batch;
        if (before >= 0) graph.add_edge(before, op);
        if (first < 0) first = op;
        before = op;
      }
      graph.add_carry(before, first);
      if (last[batch] >= 0) graph.add_edge(last[batch], first);
      last[batch] = before;
    }
  }
  return graph;
}

double total(Timeline& timeline, const std::vector<double>& times, bool fold = true) {
  for (std::size_t op = 0; op < times.size(); ++op)
    timeline.times(static_cast<int>(op))[0] = Seconds(times[op]);
  return timeline.evaluate({.fold = fold}).total.value();
}

// Alike in all parts and in both batches but for a factor.
std::vector<double> random_times(std::mt19937_64& random, double second) {
  std::vector<double> times;
  for (std::size_t k = 0; k < std::size(kernels); ++k)
    times.push_back(uniform_int(random, 0, 5) == 0 ? 0 : uniform(random, 0.1, 3));
  std::vector<double> all;
  for (int part = 0; part < 3; ++part)
    for (int batch = 0; batch < 2; ++batch)
      for (const double time : times) all.push_back(batch == 0 ? time : second * time);
  return all;
}

}  // namespace

TEST_CASE("timeline: ranked operators start in the order of their ranks, though others are ready before") {
  for (const int behind : {0, 1, 2, 3}) {
    Timeline timeline(two_batches(7, behind));
    std::mt19937_64 random(static_cast<unsigned>(behind));
    total(timeline, random_times(random, 1.3));
    std::vector<OperatorRecord> records;
    timeline.evaluate({.trace = &records});
    std::ranges::stable_sort(records, {}, &OperatorRecord::start);
    for (const int unit : {gpu, link}) {
      std::int64_t before = -1;
      for (const OperatorRecord& record : records) {
        const int part = record.op / 10, batch = record.op / 5 % 2;
        const Kernel& kernel = kernels[record.op % 5];
        if (kernel.unit != unit || record.finish == record.start) continue;
        const std::int64_t layer = part == 0 ? 0 : part == 1 ? 1 + record.layer : 8;
        const std::int64_t rank = 2 * (turns * layer + kernel.turn + batch * behind) + batch;
        CHECK(rank >= before);
        before = rank;
      }
    }
  }
}

// A: 2 s, sent in 4 s, 1 s. B is ready at once and may run its 2 s alone while A's tokens are sent: then its
// own wait for the link. Turn by turn: A 0-2, B 2-4, A's link 2-6, B's 6-10, A 6-7, B 10-11.
TEST_CASE("timeline: a ranked unit waits for the next in order, by hand") {
  const auto chain = [](std::initializer_list<int> ranks) {
    StepGraph graph;
    graph.add_unit("gpu");
    graph.add_unit("link");
    graph.add_part("part");
    auto rank = ranks.begin();
    for (int batch = 0; batch < 2; ++batch)
      for (const auto& [unit, time] : {std::pair(gpu, 2.), std::pair(link, 4.), std::pair(gpu, 1.)}) {
        const int op = graph.add_operator("kernel", {{unit, {{0, Seconds(time)}}, {}}});
        graph.operators.back().rank = *rank++;
        if (op % 3 > 0) graph.add_edge(op - 1, op);
      }
    return graph;
  };
  CHECK(Timeline(chain({0, 0, 2, 1, 1, 3})).evaluate().total == Seconds(11));
  CHECK(Timeline(chain({0, 0, 0, 1, 1, 1})).evaluate().total ==
        Seconds(14));  // B waits for all of A: 7 to 14
  CHECK(Timeline(chain({1, 1, 3, 0, 0, 2})).evaluate().total == Seconds(11));
}

TEST_CASE("timeline: a ranked step folds to what it is layer by layer") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    Timeline timeline(two_batches(40, round % 4));
    const std::vector<double> times = random_times(random, round % 3 == 0 ? 1 : uniform(random, 0.5, 2));
    const double folded = total(timeline, times);
    CHECK(timeline.evaluate().skipped_layers > 0);
    CHECK(folded == Approx(total(timeline, times, false)).epsilon(1e-12));
  }
}

// Graham's anomalies need an order that follows the times.
TEST_CASE("timeline: in a fixed order no operator that takes less makes a step longer") {
  std::mt19937_64 random(6);
  int longer_without = 0;
  for (int round = 0; round < 2000; ++round) {
    const int behind = round % 4;
    Timeline ranked(two_batches(5, behind)), as_it_can(two_batches(5, behind, false));
    std::vector<double> times = random_times(random, 1), shorter = times;
    const int which = uniform_int(random, 0, 4);
    const double factor = uniform(random, 0, 1);
    for (std::size_t op = 0; op < times.size(); ++op)
      if (static_cast<int>(op) % 5 == which) shorter[op] *= factor;
    CHECK(total(ranked, shorter) <= total(ranked, times) * (1 + 1e-12));
    longer_without += total(as_it_can, shorter) > total(as_it_can, times) * (1 + 1e-9);
  }
  CHECK(longer_without > 0);
}

TEST_CASE("timeline: an order that contradicts what waits for what is refused, as is half an order") {
  StepGraph graph;
  graph.add_unit("gpu");
  graph.add_part("part");
  for (const int rank : {1, 0}) {
    graph.add_operator("kernel", {{0, {{0, Seconds(1)}}, {}}});
    graph.operators.back().rank = rank;
  }
  graph.add_edge(0, 1);
  CHECK_THROWS_AS(Timeline(graph).evaluate(), std::invalid_argument);
  graph.operators[1].rank = -1;
  CHECK_THROWS_AS(Timeline(graph), std::invalid_argument);
}

}  // namespace weir::test::ranked_step
