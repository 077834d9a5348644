#include "workloads/activity/coactivation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "workloads/activity/neuron_rows.h"

namespace weir {
namespace {

struct Candidate {
  std::int64_t neuron = 0, distance = 0;
  double correlation = 0;

  bool before(const Candidate& other) const {
    if (correlation != other.correlation) return correlation > other.correlation;
    return distance != other.distance ? distance < other.distance : neuron < other.neuron;
  }
};

// The search for one layer: its neurons one after another, over those before in the order of how often they
// are active.
class ParentSearch {
 public:
  ParentSearch(const BlockHistory& before, const BlockHistory& layer)
      : before_(before), layer_(layer), order_(static_cast<std::size_t>(before.neurons())) {
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    std::ranges::sort(order_, {}, [&](std::int64_t i) { return std::pair(before_.active_tokens(i), i); });
  }

  NeuronParents parents(std::int64_t neuron) {
    neuron_ = neuron;
    best_ = candidate(neuron);
    second_ = candidate(neighbour(neuron, before_.neurons()));
    if (second_.before(best_)) std::swap(best_, second_);
    const auto own = std::pair(layer_.active_tokens(neuron), neuron);
    const auto start = std::ranges::lower_bound(
        order_, own, {}, [&](std::int64_t i) { return std::pair(before_.active_tokens(i), i); });
    outwards(start - order_.begin());
    return {static_cast<std::int32_t>(best_.neuron), static_cast<std::int32_t>(second_.neuron)};
  }

 private:
  Candidate candidate(std::int64_t i) const {
    return {i, std::abs(i - neuron_), layer_.correlation(neuron_, before_, i)};
  }

  // What the counts allow at most.
  double bound(std::int64_t place) const {
    if (place < 0 || place >= std::ssize(order_)) return -1;
    return layer_.correlation_bound(neuron_, before_, order_[static_cast<std::size_t>(place)]);
  }

  void outwards(std::int64_t above) {
    std::int64_t below = above - 1;
    for (std::int64_t tried = 0; tried < most_candidates; ++tried) {
      const double bound_below = bound(below), bound_above = bound(above);
      if (std::max(bound_below, bound_above) < std::max(second_.correlation, 0.0)) return;
      consider(order_[static_cast<std::size_t>(bound_below > bound_above ? below-- : above++)]);
    }
  }

  void consider(std::int64_t i) {
    if (i == best_.neuron || i == second_.neuron) return;
    const Candidate next = candidate(i);
    if (next.before(second_)) second_ = next;
    if (second_.before(best_)) std::swap(best_, second_);
  }

  const BlockHistory& before_;
  const BlockHistory& layer_;
  std::vector<std::int64_t> order_;
  std::int64_t neuron_ = 0;
  Candidate best_, second_;
};

}  // namespace

BlockHistory::BlockHistory(const ActivityRecording& recording, std::int64_t layer, NeuronBlock block)
    : tokens_(std::min(recording.tokens(), most_recorded_tokens)),
      words_(static_cast<std::size_t>((tokens_ + 63) / 64)),
      bits_(words_ * static_cast<std::size_t>(recording.counts().of(block))),
      active_tokens_(static_cast<std::size_t>(recording.counts().of(block))) {
  for (std::int64_t token = 0; token < tokens_; ++token)
    for (const NeuronRun run : recording.runs(token, layer, block))
      for (auto i = static_cast<std::size_t>(run.first); i <= static_cast<std::size_t>(run.last); ++i) {
        bits_[i * words_ + static_cast<std::size_t>(token / 64)] |= std::uint64_t{1} << (token % 64);
        ++active_tokens_[i];
      }
  for (const std::int64_t active : active_tokens_) {
    const auto spread = static_cast<double>(active * (tokens_ - active));
    per_deviation_.push_back(spread > 0 ? 1 / std::sqrt(spread) : 0);
  }
}

double BlockHistory::correlation(std::int64_t neuron, const BlockHistory& of, std::int64_t other) const {
  const std::uint64_t* const a = bits_.data() + static_cast<std::size_t>(neuron) * words_;
  const std::uint64_t* const b = of.bits_.data() + static_cast<std::size_t>(other) * words_;
  std::int64_t both = 0;
  for (std::size_t word = 0; word < words_; ++word) both += std::popcount(a[word] & b[word]);
  return phi(neuron, of, other, both);
}

double BlockHistory::correlation_bound(std::int64_t neuron, const BlockHistory& of,
                                       std::int64_t other) const {
  return phi(neuron, of, other, std::min(active_tokens(neuron), of.active_tokens(other)));
}

double BlockHistory::phi(std::int64_t neuron, const BlockHistory& of, std::int64_t other,
                         std::int64_t both) const {
  const std::int64_t covariance = tokens_ * both - active_tokens(neuron) * of.active_tokens(other);
  return static_cast<double>(covariance) * per_deviation_[static_cast<std::size_t>(neuron)] *
         of.per_deviation_[static_cast<std::size_t>(other)];
}

std::vector<NeuronParents> correlated_parents(const BlockHistory& before, const BlockHistory& layer) {
  ParentSearch search(before, layer);
  std::vector<NeuronParents> parents;
  for (std::int64_t neuron = 0; neuron < layer.neurons(); ++neuron) parents.push_back(search.parents(neuron));
  return parents;
}

}  // namespace weir
