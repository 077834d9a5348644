// Operators that turn round the members of a unit from layer to layer, against the same layers written out.
#include <catch2/catch.hpp>
#include <random>

#include "test/step/timeline/random_step.h"
#include "test/step/timeline/small_step.h"

using namespace weir;
using namespace weir::test;

namespace {

// Two chains whose layers begin and end on a unit that both share; between, each member of another unit has a
// part of its own to do, one place on in every layer. Now and then something stays on its member.
struct Layers {
  int members, layers;
  double begin[2], end[2], staying = 0;
  std::vector<double> parts[2];

  explicit Layers(std::mt19937_64& random)
      : members(static_cast<int>(uniform(random, 1, 17))), layers(static_cast<int>(uniform(random, 1, 60))) {
    const bool busy = uniform(random, 0, 1) < 0.5;
    for (int chain = 0; chain < 2; ++chain) {
      begin[chain] = uniform(random, 0.1, busy ? 3 : 0.5);
      end[chain] = uniform(random, 0.1, 2);
      for (int m = 0; m < members; ++m)
        parts[chain].push_back(uniform(random, 0, 1) < 0.2 ? 0 : uniform(random, 0.1, 4));
    }
    if (uniform(random, 0, 1) < 0.3) staying = uniform(random, 0.1, 1);
  }

  StepGraph graph(bool written_out) const {
    StepGraph graph;
    const int gpu = graph.add_unit("gpu"), ranks = graph.add_unit("ranks", members);
    graph.add_part("block", written_out ? 1 : layers);
    int before[2] = {-1, -1};
    for (int layer = 0; layer < (written_out ? layers : 1); ++layer)
      for (const int chain : {0, 1}) {
        const int first = graph.add_operator("begin", {on(gpu, begin[chain])});
        if (before[chain] >= 0) graph.add_edge(before[chain], first);
        std::vector<int> middle;
        for (int m = 0; m < members; ++m) {
          StepGraph::Alternative way = on_members(
              ranks, {{(m + layer) % members, Seconds(parts[chain][static_cast<std::size_t>(m)])}});
          way.turns = !written_out;
          middle.push_back(graph.add_operator("part", {way}));
        }
        if (staying > 0)
          middle.push_back(graph.add_operator("stays", {on_members(ranks, {{0, Seconds(staying)}})}));
        const int last = graph.add_operator("end", {on(gpu, end[chain])});
        for (const int op : middle) graph.add_edge(first, op), graph.add_edge(op, last);
        if (!written_out) graph.add_carry(last, first);
        before[chain] = last;
      }
    return graph;
  }
};

}  // namespace

TEST_CASE("timeline: operators that turn round their unit's members are those of layers written out",
          "[timeline]") {
  std::int64_t skipped = 0, layers = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    const Layers drawn(random);
    INFO("seed " << seed << ", " << drawn.members << " members, " << drawn.layers << " layers");
    Timeline turning(drawn.graph(false)), written_out(drawn.graph(true));
    const StepResult expected = written_out.evaluate();
    for (const bool fold : {false, true}) {
      const StepResult& found = turning.evaluate({.fold = fold});
      REQUIRE(found.total.value() == Approx(expected.total.value()).epsilon(1e-9));
      for (std::size_t unit = 0; unit < expected.busy.size(); ++unit)
        for (std::size_t m = 0; m < expected.busy[unit].size(); ++m)
          REQUIRE(found.busy[unit][m].value() == Approx(expected.busy[unit][m].value()).epsilon(1e-9));
      skipped += found.skipped_layers;
    }
    layers += drawn.layers;
  }
  CHECK(skipped > layers / 2);
}

TEST_CASE("timeline: an operator of a pool has no members to turn round", "[timeline]") {
  StepGraph graph;
  const int pool = graph.add_pool("pool", 4);
  graph.add_part("block", 4);
  StepGraph::Alternative way = in_pool(pool, 1, 1, 2);
  way.turns = true;
  graph.add_operator("a", {way});
  CHECK_THROWS_WITH(Timeline(graph), Catch::Matchers::Contains("a cannot turn on pool pool"));
}
