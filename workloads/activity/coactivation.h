#pragma once
// Which neurons of a layer tell most of those of the next: the correlation coefficient (phi) of two neurons
// over recorded tokens. A plain count of common tokens would name whoever is always active as everyone's
// parent.
//
// The search goes through the neurons of the layer before from those that are active as often as the neuron
// outwards: the coefficient cannot be above sqrt(odds of the rarer / odds of the more frequent), so that it
// ends where that is below what was found. Where that is late it ends after `most_candidates`; then the
// parents are the best of those. Only the first `most_recorded_tokens` are looked at. A layer of 28,672
// neurons takes 0.2 s.
#include <vector>

#include "workloads/activity/recording.h"

namespace weir {

inline constexpr std::int64_t most_candidates = 256, most_recorded_tokens = 512;

// A block of a layer over the tokens: a bit a token and neuron.
class BlockHistory {
 public:
  BlockHistory(const ActivityRecording& recording, std::int64_t layer, NeuronBlock block);

  std::int64_t neurons() const { return std::ssize(active_tokens_); }
  std::int64_t active_tokens(std::int64_t neuron) const {
    return active_tokens_[static_cast<std::size_t>(neuron)];
  }
  // Of two neurons of histories of one recording; 0 where one of them never changes.
  double correlation(std::int64_t neuron, const BlockHistory& of, std::int64_t other) const;
  // The most that it can be by how often they are active.
  double correlation_bound(std::int64_t neuron, const BlockHistory& of, std::int64_t other) const;

 private:
  double phi(std::int64_t neuron, const BlockHistory& of, std::int64_t other, std::int64_t both) const;

  std::int64_t tokens_;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::int64_t> active_tokens_;
  std::vector<double> per_deviation_;  // 1 over the deviation of a neuron; 0 where it never changes
};

// Two parents a neuron of `layer`, the more correlated one first; of equal ones the nearer by number. They
// differ, but in a block of one neuron.
std::vector<NeuronParents> correlated_parents(const BlockHistory& before, const BlockHistory& layer);

}  // namespace weir
