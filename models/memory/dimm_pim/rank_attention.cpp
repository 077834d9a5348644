#include "models/memory/dimm_pim/rank_attention.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "models/memory/dimm_pim/rank_timing.h"
#include "models/memory/dram/energy.h"
#include "sim/core/cache/made_once.h"

namespace weir {
namespace {

Bytes kv_bytes(const MemorySpec& memory, std::int64_t head_dim) {  // of a token, in whole columns
  return Bytes(static_cast<double>(2 * token_columns(memory, head_dim) * memory.organisation.access_bytes));
}

}  // namespace

RankAttention::RankAttention(MemorySpec memory, DimmPimOptions options)
    : memory_(std::move(memory)), options_(options) {
  if (options_.postponed_refreshes < 1)
    throw std::invalid_argument("no refresh may be postponed, not even to the end of a row");
  head_pipeline(memory_, options_, 1);  // or it throws
}

std::shared_ptr<const RankAttention> RankAttention::shared(const MemorySpec& memory,
                                                           const DimmPimOptions& options) {
  static MadeOnce<std::pair<MemorySpec, DimmPimOptions>, std::shared_ptr<const RankAttention>> all;
  return all.of({memory, options}, [&] { return std::make_shared<const RankAttention>(memory, options); });
}

RankAttention::Affine RankAttention::attention(std::int64_t query_heads, std::int64_t head_dim) const {
  if (query_heads < 1 || head_dim < 1) throw std::invalid_argument("attention of no heads or head_dim");
  const Affine one = head(head_dim);
  const auto n = static_cast<double>(passes(query_heads));
  return {n * one.fixed, n * one.per_token, n * one.fixed_energy, n * one.energy_per_token};
}

Cycles RankAttention::play(std::int64_t query_heads, std::int64_t head_dim, std::int64_t tokens) const {
  if (options_.level == DimmLevel::bank)
    return play_rank(memory_, options_, query_heads, head_dim, tokens).banks_free;
  if (query_heads < 1 || head_dim < 1 || tokens < 1)
    throw std::invalid_argument("attention of no heads, head_dim or tokens");
  const auto bytes = static_cast<std::int64_t>(sharing() * kv_bytes(memory_, head_dim).value());
  return stream_cycles(streamed(), StreamKind::read, passes(query_heads) * tokens * bytes, options_.refresh);
}

std::int64_t RankAttention::passes(std::int64_t query_heads) const {
  if (options_.level == DimmLevel::bank) return query_heads;
  if (options_.level == DimmLevel::channel) return 1;
  return (query_heads + rank_heads_a_pass - 1) / rank_heads_a_pass;
}

double RankAttention::sharing() const {
  return options_.level == DimmLevel::channel ? memory_.organisation.ranks : 1;
}

MemorySpec RankAttention::streamed() const {
  return options_.level == DimmLevel::channel ? memory_ : one_rank(memory_);
}

RankAttention::Affine RankAttention::head(std::int64_t head_dim) const {
  const std::lock_guard lock(mutex_);
  const auto known = heads_.find(head_dim);
  if (known != heads_.end()) return known->second;
  const Affine played = options_.level == DimmLevel::bank ? play_head(head_dim) : stream_head(head_dim);
  return heads_.emplace(head_dim, played).first->second;
}

// Beyond a few rows a head takes a row's more time for a row's more chunks (a row of K and one of V need not
// hold the same): two plays so far apart give the slope, and the mean between them what is fixed.
RankAttention::Affine RankAttention::play_head(std::int64_t head_dim) const {
  const HeadPipeline pipe = head_pipeline(memory_, options_, head_dim);
  DimmPimOptions unrefreshed = options_;
  unrefreshed.refresh = false;
  const std::int64_t k_row = pipe.score.chunks_per_row, v_row = pipe.context.chunks_per_row;
  const std::int64_t row = std::lcm(k_row, v_row), first = 2 * std::max(k_row, v_row);
  const auto run = [&](std::int64_t chunks) {
    return play_rank(memory_, unrefreshed, 1, head_dim, chunks * pipe.chunk_tokens);
  };
  const auto joules = [&](const RankRun& r) {
    return rank_energy(memory_, unrefreshed, head_dim, r).value();
  };
  const RankRun begin = run(first), end = run(first + row);
  const auto tokens = static_cast<double>(row * pipe.chunk_tokens);
  const double slope = static_cast<double>(end.banks_free - begin.banks_free) / tokens;
  const double energy_slope = (joules(end) - joules(begin)) / tokens;
  double fixed = 0, energy_fixed = 0;
  for (std::int64_t chunks = first + 1; chunks <= first + row; ++chunks) {
    const RankRun one = run(chunks);
    const double mean_tokens =
        (static_cast<double>(chunks) - 0.5) * static_cast<double>(pipe.chunk_tokens) + 0.5;
    fixed += (static_cast<double>(one.banks_free) - slope * mean_tokens) / static_cast<double>(row);
    energy_fixed += (joules(one) - energy_slope * mean_tokens) / static_cast<double>(row);
  }
  const Seconds cycle = slowed_by_refresh(head_dim) * memory_.clock;
  return {fixed * cycle, slope * cycle, Joules(energy_fixed) + refreshes(fixed * cycle),
          Joules(energy_slope) + refreshes(slope * cycle)};
}

// A long run of heads with refresh over one without: all of them where the banks are always at work.
double RankAttention::slowed_by_refresh(std::int64_t head_dim) const {
  if (!options_.refresh) return 1;
  constexpr std::int64_t tokens = 16384, refreshes = 128;
  DimmPimOptions options = options_;
  const auto play = [&](std::int64_t heads) {
    return static_cast<double>(play_rank(memory_, options, heads, head_dim, tokens).banks_free);
  };
  options.refresh = false;
  const auto heads =
      static_cast<std::int64_t>(static_cast<double>(refreshes * memory_.timings.refi) / play(1)) + 1;
  const double without = play(heads);
  options.refresh = true;
  return play(heads) / without;
}

RankAttention::Affine RankAttention::stream_head(std::int64_t head_dim) const {
  const BusStream read = play_stream(streamed(), StreamKind::read, options_.refresh);
  const Bytes bytes = kv_bytes(memory_, head_dim);
  const Seconds token = sharing() * (bytes / read.rate);
  const Joules units = options_.level == DimmLevel::rank ? rank_unit_power(memory_) * token : Joules();
  return {read.start, token, Joules(), read.energy * bytes + units + refreshes(token)};
}

// Energy of this rank's refreshes alone.
Joules RankAttention::refreshes(Seconds time) const {
  if (!options_.refresh) return {};
  const Seconds interval = static_cast<double>(memory_.timings.refi) * memory_.clock;
  return time / interval * dram_energies(memory_).refresh;
}

const BusStream& RankAttention::stream(StreamKind kind) const {
  const std::lock_guard lock(mutex_);
  const auto known = streams_.find(kind);
  if (known != streams_.end()) return known->second;
  return streams_.emplace(kind, play_stream(one_rank(memory_), kind, options_.refresh)).first->second;
}

BytesPerSecond RankAttention::store_bandwidth() const {
  const BytesPerSecond write = stream(StreamKind::write).rate;
  if (options_.level != DimmLevel::bank || options_.relayout == Relayout::in_flight) return write;
  const Bytes byte(1);
  return byte / (2 * (byte / write) + byte / stream(StreamKind::read).rate);
}

JoulesPerByte RankAttention::store_energy() const {
  const BusStream& write = stream(StreamKind::write);
  if (options_.level != DimmLevel::bank) return write.energy;
  if (options_.relayout == Relayout::in_flight)
    return JoulesPerByte(write.energy.value() + relayout_watts / write.rate.value());
  return JoulesPerByte(2 * write.energy.value() + stream(StreamKind::read).energy.value());
}

BytesPerSecond RankAttention::bus_bandwidth() const {
  return options_.level == DimmLevel::channel ? sharing() * reached(1) : stream(StreamKind::read).rate;
}

BytesPerSecond RankAttention::peak() const {
  if (options_.level != DimmLevel::bank) return memory_.peak() / sharing();
  const DramOrganisation& o = memory_.organisation;
  const Cycles column = std::max(memory_.timings.burst, memory_.timings.ccd_l);
  return Bytes(static_cast<double>(o.banks_per_rank() * o.access_bytes)) /
         (static_cast<double>(column) * memory_.clock);
}

BytesPerSecond RankAttention::reached(std::int64_t head_dim) const {
  return kv_bytes(memory_, head_dim) / head(head_dim).per_token;
}

}  // namespace weir
