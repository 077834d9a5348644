#pragma once
// A PIM and a full stream of reads on one channel slow each other, told as two factors for simulations at
// system level.
#include "models/memory/pim/pim_channel.h"

namespace weir {

// Reads of consecutive places from address 0 (round the channel's capacity), offered from cycle 0 on, one
// every `interval` cycles; 0: as fast as they are accepted.
std::vector<MemoryRequest> sequential_reads(const MemorySpec& memory, std::int64_t count,
                                            Cycles interval = 0);

// A GEMV stream with a full stream of reads beside it.
struct PimBesideReads {
  Cycles alone = 0, cycles = 0;  // of the PIM, without and with reads
  std::int64_t reads = 0;        // done when the PIM is through
  double reads_alone = 0;        // so many were done in these cycles without a PIM
  double reads_kept() const { return static_cast<double>(reads) / reads_alone; }
  double pim_slowdown() const { return static_cast<double>(cycles) / static_cast<double>(alone); }
};
PimBesideReads play_pim_beside_reads(const MemorySpec& memory, std::span<const PimChunk> chunks,
                                     const PimOptions& options = {}, Cycles interval = 0);

struct PimInterference {
  double reads_kept;    // the share of its bandwidth alone that the stream keeps while GEMVs run back to back
  double pim_slowdown;  // the factor by which those take longer
};
inline constexpr PimRequest interference_request{PimOp::both, 1024, 8, 128};
// Plays such requests over 32 refreshes.
PimInterference play_interference(const MemorySpec& memory, const PimOptions& options = {});

}  // namespace weir
