#include "models/memory/ndp_dimm/dimm_reads.h"

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <stdexcept>

#include "models/memory/dimm_pim/rank_timing.h"
#include "models/memory/dram/energy.h"
#include "sim/core/cache/made_once.h"
#include "sim/core/rng.h"

namespace weir {
namespace {

// A lone piece takes one of a few times, by where it lies over rows. Many meet some forty refreshes; with
// other seeds their time moves by 0.3 %, column major by 0.8 %.
constexpr int lone_plays = 64;
constexpr std::int64_t many_bytes = std::int64_t{8} << 20;

// The mean share of time in which a rank is refreshed: its rows are closed, and one is opened anew after it.
double refreshed_share(const DramTimings& t) {
  return static_cast<double>(t.rp + t.rfc + t.rcd_rd) / static_cast<double>(t.refi);
}

std::vector<MemoryRequest> random_pieces(const MemorySpec& rank, Rng& random, std::int64_t pieces,
                                         std::int64_t accesses) {
  const std::int64_t step = rank.organisation.access_bytes, bytes = accesses * step;
  const boost::random::uniform_int_distribution<std::int64_t> place(0,
                                                                    rank.organisation.capacity() / bytes - 1);
  std::vector<MemoryRequest> requests;
  requests.reserve(static_cast<std::size_t>(pieces * accesses));
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::int64_t from = place(random) * bytes;
    for (std::int64_t at = 0; at < bytes; at += step)
      requests.push_back({0, static_cast<std::uint64_t>(from + at), false});
  }
  return requests;
}

}  // namespace

DimmReads::DimmReads(MemorySpec channel, bool refresh)
    : channel_(std::move(channel)), rank_(one_rank(channel_)), refresh_(refresh) {}

std::shared_ptr<const DimmReads> DimmReads::shared(const MemorySpec& channel, bool refresh) {
  static MadeOnce<std::pair<MemorySpec, bool>, std::shared_ptr<const DimmReads>> all;
  return all.of({channel, refresh}, [&] { return std::make_shared<const DimmReads>(channel, refresh); });
}

DimmReads::Affine DimmReads::pieces(std::int64_t piece_bytes) const {
  if (piece_bytes < 1 || piece_bytes > std::min(most_piece_bytes, rank_.organisation.capacity()))
    throw std::invalid_argument("pieces of neurons below a byte, or too large to be played");
  const std::int64_t access = rank_.organisation.access_bytes, accesses = (piece_bytes + access - 1) / access;
  const std::lock_guard lock(mutex_);
  const auto known = pieces_.find(accesses);
  if (known != pieces_.end()) return known->second;
  return pieces_.emplace(accesses, play_pieces(accesses)).first->second;
}

// Time is the line through a lone piece, which meets its share of a refresh, and many. Commands are in
// proportion to pieces.
DimmReads::Affine DimmReads::play_pieces(std::int64_t accesses) const {
  Rng random = random_stream(1, "places of neurons");
  double lone = 0;
  for (int i = 0; i < lone_plays; ++i) {
    const ChannelRun one = play(rank_, random_pieces(rank_, random, 1, accesses), {.refresh = false});
    lone += static_cast<double>(one.last_data_end) / lone_plays;
  }
  if (refresh_) lone /= 1 - refreshed_share(rank_.timings);

  const std::int64_t many = many_bytes / (accesses * rank_.organisation.access_bytes);
  const ChannelRun run = play(rank_, random_pieces(rank_, random, many, accesses), {.refresh = refresh_});
  const double slope = (static_cast<double>(run.last_data_end) - lone) / static_cast<double>(many - 1);
  const Seconds fixed = (lone - slope) * rank_.clock, per_piece = slope * rank_.clock;
  const ChannelEnergy used = energy(rank_, run);
  return {fixed, per_piece, refreshes(fixed),
          (used.activate + used.read) / static_cast<double>(many) + refreshes(per_piece)};
}

Joules DimmReads::refreshes(Seconds time) const {
  if (!refresh_) return {};
  const Seconds interval = static_cast<double>(rank_.timings.refi) * rank_.clock;
  return time / interval * dram_energies(rank_).refresh;
}

BytesPerSecond DimmReads::piece_bandwidth(std::int64_t piece_bytes) const {
  return Bytes(static_cast<double>(piece_bytes)) / pieces(piece_bytes).per_piece;
}

const BusStream& DimmReads::rank_stream() const {
  return stream(StreamKind::read, false);
}

const BusStream& DimmReads::host_stream(StreamKind kind) const {
  return stream(kind, true);
}

const BusStream& DimmReads::stream(StreamKind kind, bool whole_channel) const {
  const std::lock_guard lock(mutex_);
  const auto known = streams_.find({kind, whole_channel});
  if (known != streams_.end()) return known->second;
  const BusStream played = play_stream(whole_channel ? channel_ : rank_, kind, refresh_);
  return streams_.emplace(std::pair(kind, whole_channel), played).first->second;
}

}  // namespace weir
