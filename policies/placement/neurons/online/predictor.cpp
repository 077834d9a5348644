#include "policies/placement/neurons/online/predictor.h"

#include <algorithm>

namespace weir {
namespace {

constexpr std::uint8_t top_state = 15, rise = 4;           // Section IV-C 1: 4 bits, "s, which is set to 4"
constexpr std::uint8_t parent_weight = 6, threshold = 15;  // the same: lambda and T
constexpr std::uint8_t least_active_state = 8;  // ESTIMATE: the upper half of the states; the paper has none

// Arithmetic on bytes stays on bytes here, so that sixteen neurons go through one instruction.
constexpr std::uint8_t expected(std::uint8_t state, std::uint8_t active_parents) {
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(state + parent_weight * active_parents) >
                                   threshold);
}
constexpr std::uint8_t any(std::uint8_t /*state*/, std::uint8_t active_parents) {
  return active_parents != 0;
}

// rule(state, number of active parents) for each neuron.
template <auto rule>
void by_parents(std::span<const std::uint8_t> states, const LayerBefore& before,
                std::span<std::uint8_t> predicted) {
  const std::size_t neurons = states.size();
  const std::uint8_t* const __restrict state = states.data();
  const std::uint8_t* const __restrict active = before.active.data();
  std::uint8_t* const __restrict out = predicted.data();
  if (!before.parents.empty()) {
    for (std::size_t i = 0; i < neurons; ++i) {
      const auto [first, second] = before.parents[i];
      out[i] = rule(state[i], static_cast<std::uint8_t>(active[first] + active[second]));
    }
    return;
  }
  for (std::size_t pair = 0; pair < neurons / 2; ++pair) {  // neighbours have the same two parents
    const auto both = static_cast<std::uint8_t>(active[2 * pair] + active[2 * pair + 1]);
    out[2 * pair] = rule(state[2 * pair], both);
    out[2 * pair + 1] = rule(state[2 * pair + 1], both);
  }
  if (neurons % 2 == 1) out[neurons - 1] = rule(state[neurons - 1], active[neurons - 1]);  // no neighbour
}

void by_state(std::span<const std::uint8_t> states, std::span<std::uint8_t> predicted) {
  std::ranges::transform(states, predicted.begin(), [](std::uint8_t state) {
    return static_cast<std::uint8_t>(state >= least_active_state);
  });
}

}  // namespace

const Choices<NeuronPredictor>& neuron_predictors() {
  static const Choices<NeuronPredictor> table = {{"token_and_layer", NeuronPredictor::token_and_layer},
                                                 {"token", NeuronPredictor::token},
                                                 {"layer", NeuronPredictor::layer},
                                                 {"perfect", NeuronPredictor::perfect}};
  return table;
}

void predict(NeuronPredictor predictor, std::span<const std::uint8_t> states, const LayerBefore& before,
             std::span<const std::uint8_t> truth, std::span<std::uint8_t> predicted) {
  if (predictor == NeuronPredictor::perfect)
    std::ranges::copy(truth, predicted.begin());
  else if (predictor == NeuronPredictor::token || before.active.empty())
    by_state(states, predicted);
  else if (predictor == NeuronPredictor::layer)
    by_parents<any>(states, before, predicted);
  else
    by_parents<expected>(states, before, predicted);
}

// "16 stages": the paper gives the outer two; ours between them are 14 equal steps.
std::uint8_t first_state(float frequency) {
  constexpr float low = 0.02F, high = 0.9F;
  if (frequency < low) return 0;
  if (frequency > high) return top_state;
  const auto step = static_cast<int>(14 * (frequency - low) / (high - low));
  return static_cast<std::uint8_t>(1 + std::min(step, 13));
}

void update(std::span<std::uint8_t> states, std::span<const std::uint8_t> active) {
  std::uint8_t* const __restrict state = states.data();
  const std::uint8_t* const __restrict now = active.data();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto up = static_cast<std::uint8_t>(std::min<std::uint8_t>(state[i], top_state - rise) + rise);
    const auto down = static_cast<std::uint8_t>(state[i] - (state[i] != 0));
    state[i] = now[i] ? up : down;
  }
}

}  // namespace weir
