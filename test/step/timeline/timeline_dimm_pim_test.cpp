// L3's pipeline of score, softmax and context (Section 4.3) on the step timeline, built of the same chunk
// times as the command-level play: where are the bubbles?
#include <algorithm>
#include <catch2/catch.hpp>

#include "models/memory/dimm_pim/rank_play.h"
#include "sim/step/timeline/timeline.h"

using namespace weir;

namespace {

struct Bubbles {
  Cycles banks_free;  // the last row closed
  Cycles idle;        // of the banks, from the first row's opening to the last one's closing
  double busy_share() const { return 1 - static_cast<double>(idle) / static_cast<double>(banks_free); }
};

// The units: banks (their rows are opened and closed by them), wires, softmax. Latencies pass by on a pool.
class PipelineGraph {
 public:
  PipelineGraph(const MemorySpec& memory, const DimmPimOptions& options)
      : memory_(memory), pipe_(head_pipeline(memory, options, 128)) {
    const DramTimings& t = memory.timings;
    const int banks = memory.organisation.banks_per_rank();
    const Cycles apart = options.activation == ActivationMode::at_once ? 0 : t.rrd_s;
    const bool faw = options.activation == ActivationMode::faw;
    for (int bank = 1; bank < banks; ++bank)  // the last activation of a row
      open_ += bank % 4 == 0 && faw ? std::max(apart, t.faw - 3 * apart) : apart;
    open_ += t.rcd_rd;
    close_ = t.rtp + t.rp - pipe_.score.banks / pipe_.score.columns;
    banks_ = graph_.add_unit("banks"), wires_ = graph_.add_unit("wires");
    softmax_ = graph_.add_unit("softmax"), way_ = graph_.add_pool("ways", 1e6);
  }

  Bubbles play(int heads, std::int64_t chunks) {
    int before = -1;
    for (int head = 0; head < heads; ++head) before = add_head(before, chunks);
    Timeline timeline(graph_);
    for (const auto& [op, per_row] : rows_)
      for (std::int64_t i = 0; i < chunks; i += per_row)
        timeline.times(op, 0, i)[0] = seconds((op == rows_.front().first && i == 0 ? 0 : close_) + open_);
    std::vector<OperatorRecord> trace;
    timeline.evaluate({.trace = &trace});
    Cycles busy = 0, end = 0;
    for (const OperatorRecord& r : trace) {
      if (graph_.operators[static_cast<std::size_t>(r.op)].alternatives[0].unit != banks_) continue;
      busy += cycles(r.finish - r.start), end = std::max(end, cycles(r.finish));
    }
    return {end + close_, end - busy};
  }

 private:
  Seconds seconds(Cycles n) const { return static_cast<double>(n) * memory_.clock; }
  Cycles cycles(Seconds s) const { return std::llround(s / memory_.clock); }
  int add(const char* name, int unit, Cycles takes) {
    StepGraph::Alternative way;
    way.unit = unit, way.portions = {{0, seconds(takes)}};
    if (unit == way_) way.least = way.most = 1;
    return graph_.add_operator(name, {way});
  }
  void chain(std::initializer_list<int> operators) {
    for (const int* to = operators.begin() + 1; to != operators.end(); ++to) graph_.add_edge(to[-1], *to);
  }

  // Behind the reads of the head before; returns its own last.
  int add_head(int before, std::int64_t chunks) {
    graph_.add_part("score", chunks, true);
    const int k_row = add("K row", banks_, 0), k = add("read K", banks_, pipe_.score.banks);
    const int out = add("sums", wires_, pipe_.score.wires), added = add("add", way_, pipe_.result_way);
    const int local = add("softmax", softmax_, pipe_.score.softmax);
    chain({k_row, k, out, added, local});
    graph_.add_carry(k, k_row);
    if (before >= 0) graph_.add_edge(before, k_row);

    graph_.add_part("context", chunks, true);
    const int v_row = add("V row", banks_, 0), norm = add("normalise", softmax_, pipe_.context.softmax);
    const int in = add("scores", wires_, pipe_.context.wires),
              there = add("write", way_, pipe_.broadcast_way);
    const int v = add("read V", banks_, pipe_.context.banks);
    chain({norm, in, there, v});
    graph_.add_edge(v_row, v), graph_.add_carry(v, v_row), graph_.add_carry(norm, norm);
    graph_.add_edge(k, v_row), graph_.add_edge(local, norm);
    rows_.push_back({k_row, pipe_.score.chunks_per_row});
    rows_.push_back({v_row, pipe_.context.chunks_per_row});
    return v;
  }

  const MemorySpec& memory_;
  HeadPipeline pipe_;
  Cycles open_ = 0, close_ = 0;  // until the first column of a row; after the time of its last
  StepGraph graph_;
  int banks_ = 0, wires_ = 0, softmax_ = 0, way_ = 0;
  std::vector<std::pair<int, std::int64_t>> rows_;  // operators that open them, and every how many chunks
};

DimmPimOptions with(double softmax_width, ActivationMode mode = ActivationMode::faw) {
  DimmPimOptions options;
  options.activation = mode, options.refresh = false;
  options.softmax_elements_per_column = softmax_width;
  return options;
}

}  // namespace

TEST_CASE(
    "timeline: L3's pipeline has no bubbles, nor has DDR5's, with a softmax unit as wide as the banks") {
  for (const char* name : {"ddr4_3200_l3", "ddr5_4800"}) {
    const MemorySpec memory = find_memory(name);
    const double width = memory.organisation.banks_per_rank() / 4.0;
    for (const std::int64_t chunks : {8, 100, 300}) {
      CAPTURE(name, chunks);
      const Bubbles one = PipelineGraph(memory, with(width)).play(1, chunks);
      CHECK(one.idle == 0);
      CHECK(PipelineGraph(memory, with(width)).play(3, chunks).idle == 0);
    }
    // Half as wide, every chunk waits for it twice.
    CHECK(PipelineGraph(memory, with(width / 2)).play(1, 300).busy_share() < 0.75);
  }
}

TEST_CASE("timeline: L3's softmax unit half as wide leaves the banks idle for the time that it lags behind") {
  const MemorySpec memory = find_memory("ddr4_3200_l3");
  const Bubbles half = PipelineGraph(memory, with(2)).play(1, 320);
  // 64 cycles a chunk and phase, of which the banks work 32; rows hide a part of it.
  const Cycles rows = 20 * 162;
  CHECK(half.idle == Approx(2 * 320 * 32 - rows).epsilon(0.02));
}

TEST_CASE("timeline: L3's rows opened all at once do not hide the softmax unit's last chunk") {
  const MemorySpec memory = find_memory("ddr4_3200_l3");
  // Sums 16, their way 22 + 3, softmax 32, normalisation 32, scores 16, their way 16, behind a row's 48.
  CHECK(PipelineGraph(memory, with(4, ActivationMode::at_once)).play(1, 96).idle == 137 - 48);
}

TEST_CASE("timeline: L3's pipeline takes as long as its commands") {
  for (const char* name : {"ddr4_3200_l3", "ddr5_4800"}) {
    const MemorySpec memory = find_memory(name);
    for (const ActivationMode mode : {ActivationMode::at_once, ActivationMode::rrd, ActivationMode::faw})
      for (const double width : {1.0, 2.0, 4.0, 8.0, 16.0})
        for (const std::int64_t chunks : {31, 96, 257}) {
          CAPTURE(name, static_cast<int>(mode), width, chunks);
          const DimmPimOptions options = with(width, mode);
          const std::int64_t tokens = chunks * memory.organisation.banks_per_rank();
          const Cycles played = play_rank(memory, options, 1, 128, tokens).banks_free;
          CHECK(PipelineGraph(memory, options).play(1, chunks).banks_free == played);
        }
  }
}
