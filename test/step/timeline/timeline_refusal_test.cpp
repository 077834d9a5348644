// Graphs, times and rates that cannot be.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "test/step/timeline/small_step.h"

using namespace weir;
using namespace weir::test;
using Catch::Matchers::Contains;

TEST_CASE("timeline: a graph that cannot run is refused with every reason", "[timeline]") {
  StepGraph graph;
  const int gpu = graph.add_unit("gpu"), pool = graph.add_pool("pool", 4);
  graph.add_part("prologue");
  const int first = graph.add_operator("first", {on(gpu, 1)});
  graph.add_part("block", 4);
  const int a = graph.add_operator("a", {on(gpu, 1)}), b = graph.add_operator("b", {on(gpu, 1)});

  const auto refused = [](const StepGraph& bad, const std::string& why) {
    CHECK_THROWS_AS(Timeline(bad), std::invalid_argument);
    CHECK_THROWS_WITH(Timeline(bad), Contains(why));
  };
  StepGraph cycle = graph;
  cycle.add_edge(a, b);
  CHECK_NOTHROW(Timeline(cycle));
  cycle.add_edge(b, a);
  refused(cycle, "a cycle: each of these waits for another: a, b");

  StepGraph many = graph;
  many.add_operator("huge", {in_pool(pool, 1, 5, 5)});
  many.add_operator("stray", {on_members(gpu, {{1, Seconds(1)}})});
  many.add_operator("twice", {on_members(gpu, {{0, Seconds(1)}, {0, Seconds(1)}})});
  many.add_operator("nowhere", {});
  many.add_operator("dry", {on(gpu, 1, {{0, BytesPerSecond(1)}})});
  many.add_edge(a, first);
  many.add_carry(first, a);
  many.add_edge(a, 99);
  for (const char* why : {"huge wants up to 5", "stray wants member 1", "twice names member 0 twice",
                          "nowhere has nowhere to run", "dry draws from a resource that does not exist",
                          "from a to first goes back", "from first to a leaves its part", "do not exist"})
    refused(many, why);

  StepGraph strays = graph;
  strays.add_operator("alone", {on(gpu, 1), on(gpu, 2)});
  strays.operators.back().follows = a;
  refused(strays, "alone must follow one of its part with as many alternatives that it waits for");
  strays.operators.back().follows = 99;
  refused(strays, "alone must follow");

  for (const Disturbance& wrong : {Disturbance{0, 0.1}, {-2, 0.1}}) {
    StepGraph disturbed = graph;
    disturbed.add_unit("pim", 1, wrong);
    refused(disturbed, "unit pim is disturbed by a resource that does not exist");
  }
  StepGraph faster = graph;
  faster.add_unit("pim", 1, {faster.add_resource("memory", BytesPerSecond(1)), -0.1});
  refused(faster, "unit pim is disturbed");

  StepGraph fits = graph;
  fits.add_operator("full", {in_pool(pool, 1, 4, 4)});
  CHECK_NOTHROW(Timeline(fits));
  StepGraph none = graph;
  none.add_part("epilogue", 0);
  refused(none, "at least one layer");
  StepGraph too_many = graph;
  too_many.add_part("epilogue", std::int64_t{1} << 40);
  too_many.add_operator("c", {on(gpu, 1)});
  refused(too_many, "too many layers");
}

TEST_CASE("timeline: times and rates that cannot be are refused, and the next step runs", "[timeline]") {
  StepGraph graph;
  const int gpu = graph.add_unit("gpu"), none = graph.add_resource("nothing", BytesPerSecond(0));
  const int memory = graph.add_resource("memory", BytesPerSecond(5));
  graph.add_part("block", 4, true);
  graph.add_operator("gemm", {on(gpu, 1, {{none, BytesPerSecond(0)}, {memory, BytesPerSecond(10)}})});
  graph.add_operator("other", {on(gpu, 1)});
  Timeline timeline(graph);
  CHECK(timeline.evaluate().total == Seconds(12));
  for (const double bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    timeline.times(0, 0, 2)[0] = Seconds(bad);
    CHECK_THROWS_AS(timeline.evaluate(), std::invalid_argument);
    CHECK_THROWS_WITH(timeline.evaluate(), Contains("gemm takes"));
    timeline.times(0, 0, 2)[0] = Seconds(1);
    timeline.rates(0, 0, 3)[1] = BytesPerSecond(bad);
    CHECK_THROWS_WITH(timeline.evaluate(), Contains("gemm draws"));
    timeline.rates(0, 0, 3)[1] = BytesPerSecond(10);
  }
  timeline.rates(0, 0, 1)[0] = BytesPerSecond(1);
  CHECK_THROWS_WITH(timeline.evaluate(), Contains("gemm draws from a resource of no capacity"));
  timeline.rates(0, 0, 1)[0] = BytesPerSecond(0);
  CHECK(timeline.evaluate().total == Seconds(12));
  CHECK_THROWS_AS(timeline.times(2), std::out_of_range);
  CHECK_THROWS_AS(timeline.times(0, 1), std::out_of_range);
  CHECK_THROWS_AS(timeline.rates(0, 0, 4), std::out_of_range);
}

TEST_CASE("timeline: an empty step takes no time", "[timeline]") {
  CHECK(total({}) == 0);
  StepGraph parts;
  parts.add_part("prologue");
  parts.add_part("block", 80);
  CHECK(total(parts) == 0);
}
