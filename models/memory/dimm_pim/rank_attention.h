#pragma once
// Decode attention on one rank of DIMM-PIM, and on what it is compared with, in seconds and joules that are
// affine in the tokens, so that runs of decode steps can be summed. Each head_dim is played once and
// remembered; any thread may ask.
//
//   bank     as rank_play.h plays it; every query head reads all of its K and V.
//   rank     K and V stream to units on the buffer chip, all ranks at once. Its 256 multipliers (Hermes) take
//            up to rank_heads_a_pass query heads that share K and V at once.
//   channel  K and V stream to the CPU over the bus, which the ranks of the channel share evenly: time on one
//            of them is as if all were at work. The CPU keeps up, whatever the number of query heads.
#include <map>
#include <memory>
#include <mutex>

#include "models/memory/dimm_pim/bus_stream.h"
#include "models/memory/dimm_pim/rank_play.h"

namespace weir {

inline constexpr double relayout_watts = 0.245e-3;  // of a rank (L3, Table 5)

class RankAttention {
 public:
  // Throws std::invalid_argument for options that cannot be.
  explicit RankAttention(MemorySpec memory, DimmPimOptions options = {});
  // One object a process for each memory and options, so that nothing is played twice.
  static std::shared_ptr<const RankAttention> shared(const MemorySpec& memory, const DimmPimOptions& options);

  const MemorySpec& memory() const { return memory_; }
  const DimmPimOptions& options() const { return options_; }

  // fixed + per_token x tokens: the mean over the tokens of a last row, refreshes' share in it. Requests one
  // after the other: the last results' way out (play_rank().last_result) is beside the next one. No standby.
  struct Affine {
    Seconds fixed, per_token;
    Joules fixed_energy, energy_per_token;
    Seconds time(double tokens) const { return fixed + tokens * per_token; }
    Joules energy(double tokens) const { return fixed_energy + tokens * energy_per_token; }
  };
  // Attention of the query heads that share one KV head, of one request.
  Affine attention(std::int64_t query_heads_per_kv_head, std::int64_t head_dim) const;

  // The same command by command, until the rank is free again: what attention() is held to.
  Cycles play(std::int64_t query_heads_per_kv_head, std::int64_t head_dim, std::int64_t tokens) const;

  // K and V into one rank over the bus, ready to be calculated with. After cpu_transposition they have
  // crossed it three times: written, read back, written (Section 2.5). The rank and the channel levels
  // calculate where whole elements arrive: nothing is to be transposed.
  BytesPerSecond store_bandwidth() const;
  JoulesPerByte store_energy() const;

  // The host's processor streams over the channel's bus so fast.
  BytesPerSecond bus_bandwidth() const;

  // The level reads so fast if only bursts take time, and K and V so fast in long contexts.
  BytesPerSecond peak() const;
  BytesPerSecond reached(std::int64_t head_dim) const;

 private:
  Affine head(std::int64_t head_dim) const;  // one pass over K and V
  Affine play_head(std::int64_t head_dim) const;
  Affine stream_head(std::int64_t head_dim) const;
  double slowed_by_refresh(std::int64_t head_dim) const;
  Joules refreshes(Seconds time) const;
  std::int64_t passes(std::int64_t query_heads) const;
  double sharing() const;  // ranks that share what this one streams over
  MemorySpec streamed() const;
  const BusStream& stream(StreamKind kind) const;  // to one rank

  MemorySpec memory_;
  DimmPimOptions options_;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, Affine> heads_;
  mutable std::map<StreamKind, BusStream> streams_;
};

// ESTIMATE: query heads that a rank unit multiplies in the time of one stream (Hermes: 256 multipliers at 1
// GHz, of which systems/memory.md's lowest reading is half a MAC a cycle each; a DDR4-3200 rank gives 12.8
// FP16 a ns).
inline constexpr std::int64_t rank_heads_a_pass = 10;

// Commands and units of a play: no standby; refreshes as many as it issued.
Joules rank_energy(const MemorySpec& memory, const DimmPimOptions& options, std::int64_t head_dim,
                   const RankRun& run);

// ESTIMATE: of the units on the buffer chip when they multiply there: bank units for a column (Table 5), and
// the adder and softmax units.
Watts rank_unit_power(const MemorySpec& memory);
// Power of all units of a rank at once, those of its banks and of its buffer chip, re-layout included (Table
// 5).
Watts bank_level_unit_power(const MemorySpec& memory);

}  // namespace weir
