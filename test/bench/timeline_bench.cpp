// CPU time of one evaluation of the step timeline: `weir_bench_timeline`, called by `make bench`. The graphs
// are the size of a decoder block (15 operators, 80 layers), folded unless it says otherwise;
// systems/simgrid.md asks for 1.5 us for one chain and 6 us for two. Operators alternate between a compute
// unit, PIM channels and a link, and draw from one memory.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>

#include "sim/step/timeline/timeline.h"

using namespace weir;

namespace {

struct Shape {
  int chains = 1;
  int channels = 1;   // members of the PIM unit, unevenly loaded
  double draw = 0.3;  // of the memory, by each compute operator
  bool unlike = false;
};

constexpr int operators = 15;
constexpr std::int64_t layers = 80;

StepGraph decoder(const Shape& shape) {
  StepGraph graph;
  const int compute = graph.add_unit("compute"), pim = graph.add_unit("pim", shape.channels);
  const int link = graph.add_unit("link"), memory = graph.add_resource("memory", BytesPerSecond(1e12));
  const auto add = [&](int chain, int i) {
    const int unit = i % 5 == 2 ? pim : i % 5 == 4 ? link : compute;
    StepGraph::Alternative way{unit, {}, {}, 0, 0};
    for (int m = 0; m < (unit == pim ? shape.channels : 1); ++m)
      way.portions.push_back({m, Seconds(1e-6 * (10 + 3 * i + chain + 0.37 * (m * 7 % 11)))});
    if (unit != link) way.draws.push_back({memory, BytesPerSecond(1e12 * (unit == pim ? 0.22 : shape.draw))});
    return graph.add_operator("op", {way});
  };
  graph.add_part("prologue");
  const int embedding = add(0, 0);
  graph.add_part("block", layers, shape.unlike);
  const int first = static_cast<int>(graph.operators.size());
  for (int chain = 0; chain < shape.chains; ++chain) {
    const int start = add(chain, 0);
    graph.add_edge(embedding, start);
    for (int i = 1; i < operators; ++i) {
      const int op = add(chain, i);
      graph.add_edge(op - 1, op);
    }
    graph.add_carry(start + operators - 1, start);
  }
  graph.add_part("epilogue");
  const int head = add(0, 0);
  for (int chain = 0; chain < shape.chains; ++chain)
    graph.add_edge(first + (chain + 1) * operators - 1, head);
  return graph;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void measure(const char* what, const Shape& shape, const EvaluateOptions& options, const char* target = "") {
  Timeline timeline(decoder(shape));
  double best = 1;
  for (int trial = 0; trial < 5; ++trial) {
    int runs = 0;
    const double start = cpu_seconds();
    for (; cpu_seconds() - start < 0.02; runs += 10)
      for (int i = 0; i < 10; ++i) timeline.evaluate(options);
    best = std::min(best, (cpu_seconds() - start) / runs);
  }
  std::printf("%-58s%9.2f%18s  %s\n", what, 1e6 * best, "", target);
}

}  // namespace

int main() {
  const EvaluateOptions folded{.causes = false}, unrolled{.fold = false, .causes = false}, explained;
  std::printf("%-58s%9s%18s  %s\n", "CPU of one step on the timeline, best of 5", "CPU us", "", "target");
  measure("one chain", {}, folded, "about 1.5 us");
  measure("  with causes", {}, explained);
  measure("  unrolled", {}, unrolled);
  measure("two chains", {.chains = 2}, folded, "about 6 us");
  measure("  with causes", {.chains = 2}, explained);
  measure("  memory overdrawn", {.chains = 2, .draw = 0.9}, folded);
  measure("  unrolled", {.chains = 2}, unrolled);
  measure("  unlike layers", {.chains = 2, .unlike = true}, folded);
  measure("  32 uneven PIM channels", {.chains = 2, .channels = 32}, folded);
}
