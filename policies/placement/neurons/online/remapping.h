#pragma once
// Window-based remapping of cold neurons between DIMMs (Hermes, Section IV-D, Algorithm 1): asked for each
// block after a window of five tokens; the moves go over the pairs' DIMM-links during projections. Pure: the
// engine applies them.
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/units.h"

namespace weir {

inline constexpr int remapping_window = 5;  // tokens, Section IV-D

struct NeuronMove {
  std::uint32_t neuron;
  std::uint8_t from, to;
};

struct RemappableBlock {
  std::span<const std::uint16_t> activations;  // A_i: of each neuron within the window
  std::span<const std::uint8_t> on_gpu;        // 1 or 0; those there are no load of their homes and stay
  std::span<const std::uint8_t> dimm;          // C_ji: the homes
  Bytes neuron;
  std::span<const Bytes> free;  // room left in each DIMM; as many as there are DIMMs
  Bytes budget;                 // of each pair: what its link still takes
};

// The most loaded DIMM is paired with the least loaded, the second with the last but one, and so on (of
// equals the lower number is the more loaded). The most active neurons move, each only while that narrows
// the pair's gap: the loop's test is reversed in print, its partner is J-1-id, and without this clause it
// need not end.
std::vector<NeuronMove> remapped(const RemappableBlock& block);

}  // namespace weir
