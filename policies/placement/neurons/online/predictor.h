#pragma once
// Hermes' online predictor (Section IV-C 1): which neurons of a block the next token activates, from a 4-bit
// state of each and from its two most correlated neurons (parents) in the same block of the layer before.
// The engine owns the tables, one span a block and layer, asks before a block is computed and updates after
// it, from what was truly active: learned from computed neurons alone, a missed one would be missed for ever.
// Pure; spans of one call are alike long, but for those said to be empty. Bytes for bits, as loops over bytes
// are vectorised: 2.95 million neurons (LLaMA2-70B) a token.
#include <cstdint>
#include <span>

#include "sim/core/neurons/neuron_block.h"
#include "sim/core/params.h"

namespace weir {

enum class NeuronPredictor {
  token_and_layer,  // s1 + 6 s2 > 15: its state, its active parents
  token,            // its state alone: 8 or more (ours: the rule above, without a parent, is never true)
  layer,            // one active parent or two (ours, likewise)
  perfect,          // what is true
};
const Choices<NeuronPredictor>& neuron_predictors();  // their names in a scenario

// The layer before, for one block.
struct LayerBefore {
  std::span<const std::uint8_t> active;         // 1 or 0; empty in the first layer
  std::span<const NeuronParents> parents = {};  // of each neuron; empty: i and its neighbour i ^ 1
};

// Neurons of the first layer have no parents: all but `perfect` go by the state there, as `token`.
void predict(NeuronPredictor predictor, std::span<const std::uint8_t> states, const LayerBefore& before,
             std::span<const std::uint8_t> truth, std::span<std::uint8_t> predicted);

std::uint8_t first_state(float frequency);  // over the prompt: 15 above 90 %, 0 below 2 %
void update(std::span<std::uint8_t> states,
            std::span<const std::uint8_t> active);      // +4 or -1, within 0 to 15
inline constexpr std::uint8_t hottest_cold_state = 10;  // T_h, Section IV-C 2: hot neurons are above

// The state table takes these as the paper counts it, 4 bits a neuron; it leaves the correlation table out.
constexpr Bytes state_table_bytes(std::int64_t neurons) {
  return Bytes(0.5 * static_cast<double>(neurons));
}

}  // namespace weir
