// Who starts when on units, members and pools, in cases small enough for pencil and paper. Laws over random
// graphs: timeline_law_test.cpp.
#include <catch2/catch.hpp>

#include "test/step/timeline/small_step.h"

using namespace weir;
using namespace weir::test;
using Catch::Matchers::Contains;

TEST_CASE("timeline: an operator waits for a member until the moment it is free", "[timeline]") {
  for (const double ready : {2.75, 3.0, 3.25}) {
    StepGraph graph;
    const int ranks = graph.add_unit("ranks", 2), link = graph.add_unit("link");
    graph.add_part("step");
    graph.add_operator("attention", {on_members(ranks, {{0, Seconds(3)}, {1, Seconds(8)}})});
    const int transfer = graph.add_operator("transfer", {on(link, ready)});
    const int next = graph.add_operator("receive", {on_members(ranks, {{0, Seconds(1)}})});
    graph.add_edge(transfer, next);
    const auto trace = played(graph);
    CHECK(trace[2].ready == Seconds(ready));
    CHECK(trace[2].start == Seconds(std::max(3.0, ready)));
    CHECK(trace[0].finish == Seconds(8));
  }
}

TEST_CASE(
    "timeline: a transfer to one rankset leaves the others computing, and overtakes who waits for others",
    "[timeline]") {
  StepGraph graph;
  const int ranks = graph.add_unit("ranks", 3);
  graph.add_part("step");
  graph.add_operator("attention", {on_members(ranks, {{0, Seconds(2)}, {1, Seconds(6)}})});
  graph.add_operator("all", {on_members(ranks, {{0, Seconds(1)}, {1, Seconds(4)}})});  // waits for 1
  graph.add_operator("to 2", {on_members(ranks, {{2, Seconds(1)}})});
  graph.add_operator("to 0", {on_members(ranks, {{0, Seconds(1)}})});  // 0 is free at 2, but wanted by `all`
  const auto trace = played(graph);
  CHECK(trace[1].start == Seconds(6));
  CHECK(trace[2].start == Seconds(0));
  CHECK(trace[3].start == Seconds(7));
  const StepResult result = Timeline(graph).evaluate();
  CHECK(result.total == Seconds(10));
  CHECK(result.busy[0] == std::vector{Seconds(4), Seconds(10), Seconds(1)});
}

TEST_CASE("timeline: an operator in a pool takes what is free and grows when others end", "[timeline]") {
  StepGraph graph;
  const int pairs = graph.add_pool("pairs", 444);
  graph.add_part("step");
  graph.add_operator("small", {in_pool(pairs, 2, 120, 120)});
  graph.add_operator("large", {in_pool(pairs, 3, 100, 444)});
  graph.add_operator("third", {in_pool(pairs, 1, 444, 444)});  // would not fit beside anyone
  const auto trace = played(graph);
  const double large = 2 + (3 - 2 * 324.0 / 444);
  CHECK(trace[1].start == Seconds(0));
  CHECK(trace[1].finish.value() == Approx(large));
  CHECK(trace[2].start.value() == Approx(large));
  const StepResult result = Timeline(graph).evaluate();
  CHECK(result.busy[0][0].value() == Approx(444 * (large + 1)));
}

TEST_CASE("timeline: an operator starts in a pool when just enough is free, and not before", "[timeline]") {
  for (const double least : {24.0, 25.0}) {
    StepGraph graph;
    const int pool = graph.add_pool("pool", 100);
    graph.add_part("step");
    graph.add_operator("holder", {in_pool(pool, 5, 76, 76)});
    graph.add_operator("guest", {in_pool(pool, 1, least, least)});
    graph.add_operator("small", {in_pool(pool, 1, 1, 1)});  // would fit, but does not overtake
    const auto trace = played(graph);
    CHECK(trace[1].start == Seconds(least <= 24 ? 0 : 5));
    CHECK(trace[2].start == Seconds(least <= 24 ? 1 : 5));
  }
}

TEST_CASE("timeline: operators ready at once start in order of layer and index, the earlier ready first",
          "[timeline]") {
  StepGraph graph;
  const int gpu = graph.add_unit("gpu"), link = graph.add_unit("link");
  graph.add_part("step");
  graph.add_operator("busy", {on(gpu, 10)});
  const int late = graph.add_operator("late", {on(gpu, 1)});
  const int a = graph.add_operator("a", {on(gpu, 1)});
  const int b = graph.add_operator("b", {on(gpu, 1)});
  const int one = graph.add_operator("one", {on(link, 1)});
  const int two = graph.add_operator("two", {on(link, 1)});
  graph.add_edge(two, late);
  graph.add_edge(one, b);
  graph.add_edge(one, a);
  const auto trace = played(graph);
  CHECK(trace[static_cast<std::size_t>(a)].start == Seconds(10));
  CHECK(trace[static_cast<std::size_t>(b)].start == Seconds(11));
  CHECK(trace[static_cast<std::size_t>(late)].start == Seconds(12));
}

TEST_CASE("timeline: moments that only rounding tells apart are one", "[timeline]") {
  StepGraph graph;  // 0.1 + 0.2 > 0.3 in binary
  const int sum = graph.add_unit("sum"), whole = graph.add_unit("whole"), shared = graph.add_unit("shared");
  graph.add_part("step");
  const int first = graph.add_operator("first", {on(shared, 1)}),
            second = graph.add_operator("second", {on(shared, 1)});
  const int a = graph.add_operator("a", {on(sum, 0.1)}), b = graph.add_operator("b", {on(sum, 0.2)});
  const int c = graph.add_operator("c", {on(whole, 0.3)});
  graph.add_edge(a, b);
  graph.add_edge(b, first);
  graph.add_edge(c, second);
  const auto trace = played(graph);
  CHECK(trace[static_cast<std::size_t>(first)].start.value() == Approx(0.3));
  CHECK(trace[static_cast<std::size_t>(second)].start.value() == Approx(1.3));
}

TEST_CASE("timeline: an operator of no time waits for its predecessors, but not for its unit", "[timeline]") {
  StepGraph graph;
  const int gpu = graph.add_unit("gpu"), link = graph.add_unit("link");
  graph.add_part("step");
  graph.add_operator("busy", {on(gpu, 10)});
  const int sent = graph.add_operator("sent", {on(link, 3)});
  const int barrier = graph.add_operator("barrier", {on(gpu, 0)});
  const int next = graph.add_operator("next", {on(link, 1)});
  graph.add_edge(sent, barrier);
  graph.add_edge(barrier, next);
  const auto trace = played(graph);
  CHECK(trace[static_cast<std::size_t>(barrier)].finish == Seconds(3));
  CHECK(trace[static_cast<std::size_t>(next)].finish == Seconds(4));
}

TEST_CASE("timeline: alternatives go where they can start soonest, the first of equals", "[timeline]") {
  StepGraph graph;
  const int left = graph.add_unit("left"), right = graph.add_unit("right");
  graph.add_part("step");
  for (int i = 0; i < 5; ++i) graph.add_operator("op", {on(left, 2), on(right, 3)});
  const auto trace = played(graph);
  std::vector<int> chosen;
  for (const auto& record : trace) chosen.push_back(record.alternative);
  CHECK(chosen == std::vector{0, 1, 0, 1, 0});  // left ends at 2, 4, 6; right at 3, 6
  CHECK(trace[4].start == Seconds(4));

  const auto last = [](auto, int, auto options) { return static_cast<int>(options.size()) - 1; };
  CHECK(played(graph, last)[4].finish == Seconds(15));
  const auto beyond = [](auto, int, auto options) { return static_cast<int>(options.size()); };
  CHECK_THROWS_WITH(Timeline(graph, beyond).evaluate(), Contains("chose alternative 2 of op"));
}
