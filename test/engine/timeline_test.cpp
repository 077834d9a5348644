// The timeline in cases small enough for pencil and paper. Laws over random graphs: timeline_law_test.cpp.
#include "sim/engine/timeline/timeline.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "test/engine/random_step.h"

using namespace weir;
using namespace weir::test;
using Draws = std::vector<StepGraph::Draw>;
using Portions = std::vector<StepGraph::Portion>;
using Catch::Matchers::Contains;

namespace {

StepGraph::Alternative on(int unit, double seconds, Draws draws = {}) {
  return {unit, {{0, Seconds(seconds)}}, std::move(draws), 0, 0};
}
StepGraph::Alternative on_members(int unit, Portions portions) {
  return {unit, std::move(portions), {}, 0, 0};
}
StepGraph::Alternative in_pool(int unit, double seconds, double least, double most) {
  return {unit, {{0, Seconds(seconds)}}, {}, least, most};
}

std::vector<OperatorRecord> played(const StepGraph& graph, const PlacementPolicy& policy = earliest_free) {
  std::vector<OperatorRecord> trace;
  Timeline(graph, policy).evaluate({.trace = &trace});
  std::stable_sort(trace.begin(), trace.end(), [](const auto& a, const auto& b) {
    return std::pair(a.layer, a.op) < std::pair(b.layer, b.op);
  });
  return trace;
}

double total(const StepGraph& graph) {
  return Timeline(graph).evaluate().total.value();
}

// A prologue, a block and an epilogue in one row, over units of every kind, with draws up to 1.5 of a
// capacity.
StepGraph random_chain(std::mt19937_64& random, double capacity) {
  StepGraph graph;
  graph.add_unit("one");
  graph.add_unit("three", 3);
  graph.add_pool("pool", 7);
  const int memory = graph.add_resource("memory", BytesPerSecond(capacity));
  for (const std::int64_t layers : {1, 9, 1}) {
    const bool unlike = layers > 1 && uniform(random, 0, 1) < 0.5;
    graph.add_part("part", layers, unlike);
    const int first = static_cast<int>(graph.operators.size());
    for (int i = uniform_int(random, 1, 6); i > 0; --i) {
      const int unit = uniform_int(random, 0, 2);
      StepGraph::Alternative way = on(unit, uniform(random, 0, 2));
      if (unit == 1) way.portions.push_back({2, Seconds(uniform(random, 0, 2))});
      if (unit == 2) way.least = 2, way.most = uniform(random, 2, 7);
      if (uniform(random, 0, 1) < 0.7) way.draws.push_back({memory, BytesPerSecond(uniform(random, 0, 15))});
      const int op = graph.add_operator("op", {way});
      if (op > 0) graph.add_edge(op - 1, op);
    }
    if (layers > 1) graph.add_carry(static_cast<int>(graph.operators.size()) - 1, first);
  }
  return graph;
}

}  // namespace

TEST_CASE("timeline: a chain takes the sum of its operators, folded or unrolled", "[timeline]") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    const StepGraph graph = random_chain(random, 10);
    Timeline timeline(graph);
    double sum = 0;
    for (int op = 0; op < static_cast<int>(graph.operators.size()); ++op) {
      const auto& described = graph.operators[static_cast<std::size_t>(op)];
      const auto& part = graph.parts[static_cast<std::size_t>(described.part)];
      for (std::int64_t layer = 0; layer < part.layers; ++layer) {
        if (part.unlike)
          for (Seconds& time : timeline.times(op, 0, layer)) time = Seconds(uniform(random, 0, 2));
        const auto times = timeline.times(op, 0, layer);
        double slow = 1;
        for (const BytesPerSecond rate : timeline.rates(op, 0, layer))
          slow = std::max(slow, rate.value() / 10);
        sum += std::max_element(times.begin(), times.end())->value() * slow;
      }
    }
    CHECK(graph.serial());
    const StepResult folded = timeline.evaluate();
    const StepResult unrolled = timeline.evaluate({.fold = false});
    CHECK(folded.total.value() == Approx(sum).epsilon(1e-11));
    CHECK(unrolled.total.value() == Approx(sum).epsilon(1e-11));
  }
}

TEST_CASE("timeline: a graph is serial only if no two operators can ever run at once", "[timeline]") {
  StepGraph graph;
  const int gpu = graph.add_unit("gpu"), link = graph.add_unit("link"), ranks = graph.add_unit("ranks", 2);
  const int pool = graph.add_pool("pool", 4);
  graph.add_part("block", 10);
  const int first = graph.add_operator("first", {on(gpu, 1)});
  const int left = graph.add_operator("left", {on(gpu, 2)}),
            right = graph.add_operator("right", {on(gpu, 3)});
  const int last = graph.add_operator("last", {on(link, 1)});
  for (const auto& [from, to] : {std::pair{first, left}, {first, right}, {left, last}, {right, last}})
    graph.add_edge(from, to);
  CHECK_FALSE(graph.serial());  // the next layer does not wait
  graph.add_carry(left, first);
  CHECK_FALSE(graph.serial());  // not for all of it
  graph.add_carry(last, first);
  CHECK(graph.serial());
  CHECK(total(graph) == Approx(10 * 7));
  for (const int unit : {link, ranks, pool}) {
    StepGraph other = graph;
    other.operators[static_cast<std::size_t>(left)].alternatives[0].unit = unit;
    CHECK_FALSE(other.serial());
    other.operators[static_cast<std::size_t>(right)].alternatives[0].unit = unit;
    CHECK(other.serial() == (unit == link));  // of several members, or of a pool, both may have their own
  }
  graph.operators[static_cast<std::size_t>(first)].alternatives.push_back(on(link, 1));
  CHECK_FALSE(graph.serial());  // the sum depends on the choice
}

TEST_CASE("timeline: a chain is never slower with more bandwidth", "[timeline]") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    double before = std::numeric_limits<double>::infinity();
    for (const double capacity : {1.0, 3.0, 9.0, 14.9, 15.1, 100.0}) {
      std::mt19937_64 random(seed);
      const double now = total(random_chain(random, capacity));
      CHECK(now <= before);
      before = now;
    }
  }
}

TEST_CASE(
    "timeline: a PIM operation with dual row buffers leaves the NPU 78 % of the bandwidth, with one it "
    "blocks",
    "[timeline]") {
  const auto step = [](double pim_draw) {
    StepGraph graph;
    const int npu = graph.add_unit("npu"), pim = graph.add_unit("pim");
    const int channels = graph.add_resource("channels", BytesPerSecond(1000));
    graph.add_part("step");
    graph.add_operator("weights", {on(npu, 10, {{channels, BytesPerSecond(1000)}})});
    graph.add_operator("attention", {on(pim, 4, {{channels, BytesPerSecond(1000 * pim_draw)}})});
    return graph;
  };
  const auto dual = played(step(0.22)), single = played(step(1));
  CHECK(dual[1].finish.value() == Approx(4));              // undisturbed
  CHECK(dual[0].finish.value() == Approx(10 + 0.22 * 4));  // loses 22 % for 4 s
  CHECK(single[1].finish.value() == Approx(8));            // half each
  CHECK(single[0].finish.value() == Approx(10 + 4));       // no better than one after the other
}

TEST_CASE("timeline: a prefetch hides under the all-reduce that draws from the same memory", "[timeline]") {
  const auto step = [](double prefetch) {
    StepGraph graph;
    const int npu = graph.add_unit("npu"), link = graph.add_unit("link"), stream = graph.add_unit("prefetch");
    const int hbm = graph.add_resource("hbm", BytesPerSecond(10));
    graph.add_part("step");
    const int first = graph.add_operator("gemm", {on(npu, 2, {{hbm, BytesPerSecond(10)}})});
    const int reduce = graph.add_operator("all_reduce", {on(link, 5, {{hbm, BytesPerSecond(3)}})});
    const int fetch = graph.add_operator("prefetch", {on(stream, prefetch, {{hbm, BytesPerSecond(10)}})});
    const int second = graph.add_operator("gemm", {on(npu, 1)});  // reads the cache
    graph.add_edge(first, reduce);
    graph.add_edge(first, fetch);
    graph.add_edge(reduce, second);
    graph.add_edge(fetch, second);
    return graph;
  };
  CHECK(total(step(3.4)) == Approx(2 + 5 + 1));  // 0.7 x 5 s of prefetch fit
  CHECK(total(step(3.5)) == Approx(2 + 5 + 1));
  CHECK(total(step(3.6)) == Approx(2 + 5 + 0.1 + 1));  // the rest at full speed
}

TEST_CASE("timeline: a GEMM and its all-reduce in chunks overlap, but for the first and the last chunk",
          "[timeline]") {
  for (const int chunks : {1, 4, 16}) {
    StepGraph graph;
    const int npu = graph.add_unit("npu"), link = graph.add_unit("link");
    graph.add_part("block", 50);
    std::vector<int> gemms, reduces;
    for (int i = 0; i < chunks; ++i) {
      gemms.push_back(graph.add_operator("gemm", {on(npu, 8. / chunks)}));
      reduces.push_back(graph.add_operator("all_reduce", {on(link, 6. / chunks)}));
      graph.add_edge(gemms.back(), reduces.back());
    }
    for (const int gemm : gemms) graph.add_carry(reduces.back(), gemm);
    CHECK(total(graph) == Approx(50 * (8 + 6. / chunks)));
    CHECK(graph.serial() == (chunks == 1));
  }
}

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

TEST_CASE("timeline: steps overlap the next step where the graph lets them", "[timeline]") {
  for (const auto& [first, second] : {std::pair{2.0, 3.0}, {3.0, 2.0}}) {
    StepGraph graph;
    const int front = graph.add_unit("front"), back = graph.add_unit("back");
    graph.add_part("step", 50);
    const int a = graph.add_operator("a", {on(front, first)}),
              b = graph.add_operator("b", {on(back, second)});
    graph.add_edge(a, b);
    graph.add_carry(a, a);
    graph.add_carry(b, b);
    CHECK(total(graph) == Approx(first + 49 * std::max(first, second) + second));
    graph.add_carry(b, a);  // one after the other
    CHECK(total(graph) == Approx(50 * (first + second)));
  }
}

TEST_CASE("timeline: what only the last layer lets through is not lost by folding", "[timeline]") {
  StepGraph graph;  // the epilogue waits for `a` alone, and runs beside the last `b`
  const int front = graph.add_unit("front"), back = graph.add_unit("back"), host = graph.add_unit("host");
  graph.add_part("block", 1000);
  const int a = graph.add_operator("a", {on(front, 2)}), b = graph.add_operator("b", {on(back, 1)});
  graph.add_edge(a, b);
  graph.add_carry(a, a);
  graph.add_part("epilogue");
  const int end = graph.add_operator("end", {on(host, 5)});
  graph.add_edge(a, end);
  const StepResult folded = Timeline(graph).evaluate();
  CHECK(folded.skipped_layers > 900);
  CHECK(folded.total.value() == Approx(2005));
  CHECK(folded.busy[static_cast<std::size_t>(back)][0].value() == Approx(1000));
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
