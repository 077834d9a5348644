#pragma once
// Batches drawn at random, and what a GPU with PIM beside it would take for them: what LearnedTimes is shown
// and asked about.
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "models/latency/attention.h"
#include "policies/batching/predict/learned_times.h"

namespace weir::test {

using Chunks = std::vector<PrefillChunk>;

// What a device would take for a part of a batch. `noise` is the deviation of a measurement, as a share.
struct Truth {
  std::function<double(const Chunks&)> attention;
  std::function<double(std::int64_t rows)> batched;
  std::function<double(const OffloadedWork&)> offloaded;
  double noise = 0;
};

// Of an A100 as data sheets have it, all layers of a model together.
double attention_seconds(AttentionGrid grid, const Chunks& chunks);
double roofline_seconds(double rows);
Truth gpu_and_pim(double slower = 1, double noise = 0);

class Batches {
 public:
  explicit Batches(unsigned seed) : random_(seed) {}

  std::int64_t whole(double low, double high) {  // log-uniform
    return static_cast<std::int64_t>(
        std::round(low * std::pow(high / low, std::uniform_real_distribution<double>(0, 1)(random_))));
  }
  // Some whole prompts and one that is cut, part of it done, as the scheduler makes them.
  Chunks chunks() {
    Chunks made;
    for (std::int64_t i = whole(1, 8); i > 1; --i) made.push_back({whole(16, 2048), 0});
    made.push_back({16 * whole(1, 128), whole(1, 8192) - 1});
    return made;
  }
  std::int64_t prompt_tokens() { return whole(1, 8192) - 1; }
  std::int64_t decodes() { return whole(1, 1024); }
  OffloadedWork offloaded() {
    const std::int64_t decodes = this->decodes();
    return {decodes, decodes * whole(100, 10000), prompt_tokens()};
  }
  double measured(double seconds, double noise) {
    return seconds * (1 + noise * std::normal_distribution<double>()(random_));
  }

 private:
  std::mt19937_64 random_;
};

// Shows `times` so many batches of each operation.
void observe(LearnedTimes& times, const Truth& truth, Batches& batches, int count);

}  // namespace weir::test
