#include "models/memory/ndp_dimm/ndp_dimm_costs.h"

#include <cmath>
#include <stdexcept>

namespace weir {
namespace {

void check_amount(double amount) {
  if (!(amount >= 0) || std::isinf(amount)) throw std::invalid_argument("an amount of work that cannot be");
}

}  // namespace

NdpDimmCosts::NdpDimmCosts(const MemorySpec& channel, const NdpCore& core, int ranks, bool refresh)
    : core_(core), ranks_(ranks) {
  check_ndp_core(core);
  if (ranks < 1 || channel.organisation.ranks % ranks != 0)
    throw std::invalid_argument("a channel's ranks are not those of whole DIMMs");
  reads_ = DimmReads::shared(channel, refresh);
}

NdpWorkCost NdpDimmCosts::neurons(const NeuronWork& work) const {
  check_amount(work.pieces);
  const DimmReads::Affine read = reads_->pieces(work.piece_bytes);
  return beside(read.time(work.pieces), ranks_ * read.energy(work.pieces), work.macs, work.buffered);
}

NdpWorkCost NdpDimmCosts::stream(Bytes bytes, double macs, Bytes buffered) const {
  check_amount(bytes.value());
  if (bytes == Bytes()) return beside({}, {}, macs, buffered);
  const BusStream& rank = reads_->rank_stream();
  const Seconds reading = rank.start + bytes / (ranks_ * rank.rate);
  return beside(reading, rank.energy * bytes + ranks_ * reads_->refreshes(reading), macs, buffered);
}

NdpWorkCost NdpDimmCosts::beside(Seconds reading, Joules dram_energy, double macs, Bytes buffered) const {
  if (!(buffered >= Bytes()) || buffered > core_.buffer)
    throw std::invalid_argument("more activations and partial sums than the buffer of an NDP core holds");
  return {reading, core_.multiply(macs), dram_energy, core_.multiply_energy(macs)};
}

BytesPerSecond NdpDimmCosts::neuron_bandwidth(std::int64_t piece_bytes) const {
  return ranks_ * reads_->piece_bandwidth(piece_bytes);
}

BytesPerSecond NdpDimmCosts::stream_bandwidth() const {
  return ranks_ * reads_->rank_stream().rate;
}

}  // namespace weir
