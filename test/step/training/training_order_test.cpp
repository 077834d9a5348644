// No operator of a training step before what it waits for, whatever the runtime lets overlap.
#include <boost/range/iterator_range.hpp>
#include <catch2/catch.hpp>

#include "test/step/training/random_training.h"

using namespace weir;
using namespace weir::test;

namespace {

constexpr std::int64_t steps = 5;

struct PlayedVertex {  // all phases of an operator in one step
  Seconds start = Seconds(1e300), end = Seconds(-1);
};

// By step and vertex.
std::vector<std::vector<PlayedVertex>> played(const TrainingStep& step, std::size_t vertices,
                                              std::int64_t placed) {
  std::vector<std::vector<PlayedVertex>> all(static_cast<std::size_t>(placed),
                                             std::vector<PlayedVertex>(vertices));
  for (const OperatorRecord& record : step.trace()) {
    const int vertex = step.plan().vertex_of[static_cast<std::size_t>(record.op)];
    if (vertex < 0) continue;
    PlayedVertex& it = all[static_cast<std::size_t>(record.layer)][static_cast<std::size_t>(vertex)];
    it.start = std::min(it.start, record.start);
    it.end = std::max(it.end, record.finish);
  }
  return all;
}

}  // namespace

TEST_CASE("training: no operator starts before its inputs are there, in its step or from the one before",
          "[training]") {
  int overlaps = 0;
  const int cases = for_random_trainings(1, 60, [&](const TrainingCase& it) {
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const TrainingStep step = it.run(steps);
    const std::int64_t placed = steps - (it.runtime.policy->profiles() ? 1 : 0);
    const std::size_t vertices = boost::num_vertices(it.graph.operators);
    const auto at = played(step, vertices, placed);
    bool complete = true, in_order = true, carried = true;
    for (std::size_t i = 0; i < at.size(); ++i) {
      for (const PlayedVertex& vertex : at[i]) complete &= vertex.start <= vertex.end;
      for (const auto edge : boost::make_iterator_range(boost::edges(it.graph.operators)))
        in_order &= at[i][boost::source(edge, it.graph.operators)].end <=
                    at[i][boost::target(edge, it.graph.operators)].start;
      for (const CarriedDependence& edge : it.graph.carried)
        carried &= i == 0 || at[i - 1][edge.from].end <= at[i][edge.to].start;
    }
    CHECK(complete);
    CHECK(in_order);
    CHECK(carried);
    for (std::size_t i = 1; i < at.size(); ++i)
      for (std::size_t v = 0; v < vertices; ++v) overlaps += at[i][v].start < at[i - 1].back().start;
  });
  CHECK(cases > 900);
  CHECK(overlaps > 1000);  // operators that began before the last of the step before
}
