#include "workloads/activity/generated_source.h"

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>
#include <numeric>

#include "workloads/activity/redraws.h"

namespace weir {
namespace {

// A neuron is active while its number is below this: its frequency in steps of 2^-16, and never quite 1.
using Thresholds = std::vector<std::uint16_t>;

Thresholds thresholds_of(const FrequencyCurve& curve, std::int64_t neurons) {
  Thresholds thresholds(static_cast<std::size_t>(neurons));
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    const double rank = (static_cast<double>(i) + 0.5) / static_cast<double>(neurons);
    thresholds[i] = static_cast<std::uint16_t>(std::clamp(std::lround(65536 * curve.at(rank)), 0L, 65535L));
  }
  return thresholds;
}

// The profile's, with a share of the neurons, any of them, having one another's.
Thresholds drifted(Thresholds thresholds, double drift, Rng& rng) {
  std::vector<std::size_t> order(thresholds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto moved = static_cast<std::size_t>(std::lround(drift * static_cast<double>(order.size())));
  for (std::size_t i = 0; i < moved; ++i) {
    const boost::random::uniform_int_distribution<std::size_t> which(i, order.size() - 1);
    std::swap(order[i], order[which(rng)]);
  }
  for (std::size_t i = 1; i < moved; ++i) std::swap(thresholds[order[i - 1]], thresholds[order[i]]);
  return thresholds;
}

// What all layers have in common of a block.
struct BlockProfile {
  Thresholds thresholds;
  std::vector<float> frequency;
  std::vector<NeuronParents> parents;

  BlockProfile(const FrequencyCurve& curve, std::int64_t neurons)
      : thresholds(thresholds_of(curve, neurons)) {
    for (const std::uint16_t threshold : thresholds)
      frequency.push_back(static_cast<float>(threshold) / 65536);
    for (std::int64_t i = 0; i < neurons; ++i)
      parents.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(neighbour(i, neurons))});
  }
};

class GeneratedTokens final : public TokenActivity {
 public:
  GeneratedTokens(const NeuronCounts& counts, std::uint64_t seed, Thresholds attention, Thresholds mlp)
      : rows_(counts),
        redraws_(counts, seed),
        thresholds_{std::move(attention), std::move(mlp)},
        active_(rows_.size()) {}

  void next() override {
    redraws_.next();
    for (std::int64_t layer = 0; layer < rows_.counts().layers; ++layer)
      for (const NeuronBlock block : neuron_blocks) {
        const std::uint16_t* const numbers = redraws_.numbers(layer, block).data();
        const Thresholds& thresholds = thresholds_[static_cast<std::size_t>(block)];
        std::uint8_t* const active = rows_.row(active_, layer, block).data();
        for (std::size_t i = 0; i < thresholds.size(); ++i) active[i] = numbers[i] < thresholds[i];
      }
  }

  std::span<const std::uint8_t> active(std::int64_t layer, NeuronBlock block) const override {
    return rows_.row(active_, layer, block);
  }

 private:
  NeuronRows rows_;
  Redraws redraws_;
  std::array<Thresholds, 2> thresholds_;
  std::vector<std::uint8_t> active_;
};

class GeneratedSource final : public ActivitySource {
 public:
  GeneratedSource(const NeuronCounts& counts, const FrequencyCurve& curve, double drift)
      : counts_(counts), drift_(drift), profiles_{{{curve, counts.attention}, {curve, counts.mlp}}} {}

  std::span<const float> frequency(std::int64_t layer, NeuronBlock block) const override {
    return of(layer, block).frequency;
  }
  std::span<const NeuronParents> parents(std::int64_t layer, NeuronBlock block) const override {
    const BlockProfile& profile = of(layer, block);
    return layer > 0 ? std::span(profile.parents) : std::span<const NeuronParents>();
  }
  std::unique_ptr<TokenActivity> sequence(std::uint64_t seed) const override {
    Rng rng = random_stream(seed, "neuron drift");
    Thresholds attention = drifted(profiles_[0].thresholds, drift_, rng);
    Thresholds mlp = drifted(profiles_[1].thresholds, drift_, rng);
    return std::make_unique<GeneratedTokens>(counts_, seed, std::move(attention), std::move(mlp));
  }

 private:
  const BlockProfile& of(std::int64_t layer, NeuronBlock block) const {
    if (layer < 0 || layer >= counts_.layers) throw std::out_of_range("no such layer of neurons");
    return profiles_[static_cast<std::size_t>(block)];
  }

  NeuronCounts counts_;
  double drift_;
  std::array<BlockProfile, 2> profiles_;
};

}  // namespace

std::unique_ptr<const ActivitySource> generated_source(const NeuronCounts& counts,
                                                       const FrequencyCurve& curve, double drift) {
  return std::make_unique<GeneratedSource>(counts, curve, drift);
}

}  // namespace weir
