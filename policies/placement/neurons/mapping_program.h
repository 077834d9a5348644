#pragma once
// Hermes' Equations 1 to 7 (Section IV-B) as an integer program over buckets of neurons, with what the paper
// leaves out: a neuron is in one place, Equations 6 and 7 sum over layers and neurons, the DIMMs hold all
// weights, and QKV and MLP of a layer join apart (two maxima). The policy `ilp` asks. Pure.
//
// The DIMMs of a block are alike once its neurons are dealt out by frequency: to the solver they are one,
// so many times as fast. `each_dimm` gives each variables of its own, as Equation 2 is printed; its symmetry
// makes that one for a few neurons, to check the other by.
#include <optional>
#include <span>

#include "policies/placement/neurons/neuron_placement.h"

namespace weir {

struct MappingLimits {
  std::size_t buckets;  // a block, at most
  bool each_dimm;
  double gap;  // relative to the least time, where the solver may stop
  int nodes;   // that it may branch to
};

// Nothing where the solver has found no mapping within its nodes. Machine and layers are such that
// why_not_placed() says nothing.
std::optional<NeuronMapping> least_time_mapping(const NeuronMachine& machine,
                                                std::span<const NeuronLayer> layers,
                                                const MappingLimits& limits);

}  // namespace weir
