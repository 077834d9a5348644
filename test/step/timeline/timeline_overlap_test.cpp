// What runs beside what: chains that cannot overlap, draws that share a memory, layers and steps that meet.
#include <catch2/catch.hpp>
#include <limits>

#include "test/step/timeline/random_step.h"
#include "test/step/timeline/small_step.h"

using namespace weir;
using namespace weir::test;

namespace {

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

TEST_CASE("timeline: what is disturbed by reads takes longer by as much as they draw of what it leaves",
          "[timeline]") {
  struct Beside {
    double reads = 0, seconds = 10, other_pim = 0;
  };
  const auto attention = [](double draw, double most, const Beside& beside) {
    StepGraph graph;
    const int npu = graph.add_unit("npu"), pim = graph.add_unit("pim", 1, {0, most}),
              other = graph.add_unit("other pim", 1, {0, most});
    const int channels = graph.add_resource("channels", BytesPerSecond(1000));
    graph.add_part("step");
    graph.add_operator("attention", {on(pim, 4, {{channels, BytesPerSecond(draw)}})});
    graph.add_operator("elsewhere", {on(other, 4, {{channels, BytesPerSecond(beside.other_pim)}})});
    graph.add_operator("weights", {on(npu, beside.seconds, {{channels, BytesPerSecond(beside.reads)}})});
    return played(graph)[0].finish.value();
  };
  CHECK(attention(200, 0.5, {}) == Approx(4));
  CHECK(attention(200, 0.5, {.reads = 400}) == Approx(4 * 1.25));  // half of the 800 that are left
  CHECK(attention(200, 0.5, {.reads = 900}) == Approx(4 * 1.5));   // all of them
  CHECK(attention(1000, 0.5, {.reads = 500, .seconds = 20}) ==
        Approx(4 * 2 * 1.5));  // reads as much as it does
  CHECK(attention(200, 0, {.reads = 900}) == Approx(4));
  CHECK(attention(200, 0.5, {.reads = 400, .seconds = 2.5}) == Approx(2.5 + 2));  // 2 of 4 done beside them
  CHECK(attention(200, 0.5, {.other_pim = 400}) == Approx(4));  // what is disturbed itself disturbs nobody
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
