#pragma once
// Reads of an NDP-DIMM's DRAM (Hermes, Section IV-A): by the core on its centre buffer, which has every rank
// of the DIMM on a bus of its own, and by the host over the channel. What the core gets is one rank's; all of
// them read the same at once. Whoever costs kernels on such DIMMs asks (ndp_dimm_costs.h). Each size of piece
// is played once on the channel model (dram/channel.h) and remembered; any thread may ask. No standby in any
// energy.
//
// A neuron lies over all ranks of its DIMM, a piece of so many bytes in each at the same place. Pieces lie
// one after the other, over all of the rank; those of active neurons are at random ones of these places.
// ESTIMATE: the core's controller is as the host's, DRAMsim3's: the paper does not say.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "models/memory/dimm_pim/bus_stream.h"

namespace weir {

class DimmReads {
 public:
  explicit DimmReads(MemorySpec channel, bool refresh = true);
  // One object a process for each channel, so that nothing is played twice.
  static std::shared_ptr<const DimmReads> shared(const MemorySpec& channel, bool refresh = true);

  const MemorySpec& channel() const { return channel_; }

  // fixed + per_piece x pieces, of one rank, refreshes' share in it. An expectation below one piece is that
  // share of one.
  struct Affine {
    Seconds fixed, per_piece;
    Joules fixed_energy, energy_per_piece;
    Seconds time(double pieces) const { return std::min(pieces, 1.0) * fixed + pieces * per_piece; }
    Joules energy(double pieces) const {
      return std::min(pieces, 1.0) * fixed_energy + pieces * energy_per_piece;
    }
  };
  // Whole accesses are read. Throws std::invalid_argument for pieces below a byte or above most_piece_bytes.
  Affine pieces(std::int64_t piece_bytes) const;
  BytesPerSecond piece_bandwidth(std::int64_t piece_bytes) const;  // of one rank, when there are many

  // Addresses in order: of one rank by the core (K and V, dense matrices), of the whole channel by the host.
  const BusStream& rank_stream() const;
  const BusStream& host_stream(StreamKind kind) const;

  Joules refreshes(Seconds time) const;  // of one rank

 private:
  Affine play_pieces(std::int64_t accesses) const;
  const BusStream& stream(StreamKind kind, bool whole_channel) const;

  MemorySpec channel_, rank_;
  bool refresh_;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, Affine> pieces_;  // by accesses
  mutable std::map<std::pair<StreamKind, bool>, BusStream> streams_;
};

// A whole neuron of the largest models in one rank (OPT-66B's, 54 KB), and short enough that a lone one
// differs from many.
inline constexpr std::int64_t most_piece_bytes = std::int64_t{64} << 10;

}  // namespace weir
