#pragma once
// Seconds and joules of work on one NDP-DIMM of Hermes: reading of its ranks, all at once, beside multiplying
// in its core. For devices and policies that place neurons; cheap to copy, what it plays is shared
// (dimm_reads.h). Any thread may ask. Energies are of commands, refreshes and arithmetic: no standby.
#include <algorithm>

#include "models/memory/ndp_dimm/dimm_reads.h"
#include "models/memory/ndp_dimm/ndp_core.h"

namespace weir {

inline constexpr int hermes_ranks_per_dimm = 4;  // Table II

// Active neurons of one DIMM. Each is read once, whatever the batch, and multiplied for every sequence that
// it is active for.
struct NeuronWork {
  double pieces;             // of each rank: as many as neurons; an expectation need not be whole
  std::int64_t piece_bytes;  // a neuron's over the ranks
  double macs;               // weights x sequences, summed over the neurons
  Bytes buffered{};          // activations and partial sums that the core holds meanwhile (NdpCore::held)
};

struct NdpWorkCost {
  Seconds reading, multiplying;  // beside each other
  Joules dram_energy, core_energy;

  Seconds time() const { return std::max(reading, multiplying); }
  Joules energy() const { return dram_energy + core_energy; }
};

class NdpDimmCosts {
 public:
  // Throws std::invalid_argument where the core cannot be, or the channel's ranks are no whole DIMMs.
  explicit NdpDimmCosts(const MemorySpec& channel, const NdpCore& core = {},
                        int ranks = hermes_ranks_per_dimm, bool refresh = true);

  const NdpCore& core() const { return core_; }
  const DimmReads& reads() const { return *reads_; }
  int dimms_per_channel() const { return reads_->channel().organisation.ranks / ranks_; }

  // Both throw std::invalid_argument for less than nothing, or more than the buffer holds.
  NdpWorkCost neurons(const NeuronWork& work) const;
  // Bytes of the DIMM in order, over its ranks: dense matrices; K and V, with the query heads of a group as
  // MACs.
  NdpWorkCost stream(Bytes bytes, double macs, Bytes buffered = {}) const;

  BytesPerSecond neuron_bandwidth(std::int64_t piece_bytes) const;  // of the DIMM, random neurons
  BytesPerSecond stream_bandwidth() const;                          // of the DIMM, in order

 private:
  NdpWorkCost beside(Seconds reading, Joules dram_energy, double macs, Bytes buffered) const;

  std::shared_ptr<const DimmReads> reads_;
  NdpCore core_;
  int ranks_;
};

}  // namespace weir
