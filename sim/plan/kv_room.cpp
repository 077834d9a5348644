// How many KV blocks a replica has, in which pools: in its devices' memory beside the weights, or in its
// host's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/plan/engine_catalog.h"
#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

constexpr std::int64_t endless = std::int64_t{1} << 50;

std::string gib(Bytes b) {
  return fmt::format("{:.2f} GiB", b.value() / 1073741824.);
}

KvPools pools_of(const Rank& rank, std::int64_t each, std::int64_t own) {
  const bool spread = rank.placement->spreads_layers();
  const auto placed = static_cast<std::size_t>(rank.placed_channels());
  KvPools pools{std::vector(spread ? 1 : placed, each), std::vector(placed, 0), rank.spare_channel()};
  if (!spread) std::iota(pools.of_channel.begin(), pools.of_channel.end(), 0);
  if (pools.spare_channel >= 0) {
    pools.of_channel.push_back(static_cast<int>(pools.blocks.size()));
    pools.blocks.push_back(own);
  }
  return pools;
}

// Beside the weights that lie there too. Where the layers of a request go round the channels and do not
// divide by them, one holds a layer more than another: all are as full as that one.
Bytes room_elsewhere(const Rank& rank, std::int64_t layers, Bytes weights) {
  const std::int64_t channels = rank.placed_channels();
  const std::int64_t most = (layers + channels - 1) / channels * channels;
  const double used = static_cast<double>(layers) / static_cast<double>(most);
  return (rank.placement->spreads_layers() ? used : 1) * (rank.kv_memory().capacity - weights);
}

bool one_host_pool(const Rank& rank) {
  return rank.spare_channel() >= 0 && (rank.placed_channels() == 1 || rank.placement->spreads_layers());
}

// A cache in the host's memory cannot be combined with some other keys.
bool host_memory_serves(const Scenario& s, const ReplicaPlan& replica, const std::string& pointer,
                        Reading& reading) {
  const ReplicaSpec& spec = replica.spec;
  const DeviceSpec& device = replica.rank.on->spec();
  const bool in_host = replica.rank.keeps_kv_in_host(), channels = replica.rank.placed_channels() > 1;
  bool serves = true;
  const auto refuse = [&](const char* key, const std::string& why) {
    reading.problem(pointer + key, why);
    serves = false;
  };
  if (!in_host && channels && spec.placement->spreads_layers())
    refuse(
        "/placement",
        fmt::format("layers go round the ranksets of a host memory ({} among the devices, and {} as "
                    "partitioning); in {} a request's are all in one channel",
                    host_memories(), partitioning_into_host_memory(&HostMemoryUse::kv_caches), device.kind));
  if (in_host && spec.kv_cache.preemption == Preemption::swap)
    refuse("/kv_cache/preemption", "cannot be \"swap\" where the KV cache lies in the host's memory already");
  if (in_host && spec.role != Role::both)
    refuse("/role", "cannot hand over or take over a KV cache that lies in a host's memory");
  if (spec.batching->moves_kv_caches() && !one_host_pool(replica.rank))
    refuse("/batching",
           fmt::format("moves KV caches between the GPU's own memory and its host's: expected {} with "
                       "spare_memory as partitioning, and beside the GPUs a host memory of one rankset, or "
                       "of several and {} as placement",
                       partitioning_into_host_memory(&HostMemoryUse::kv_caches), placement_of_layers()));
  if (spec.batching->moves_kv_caches() && s.workload.in_generation)
    refuse("/batching", "cannot take over requests in the middle of their generation (warm_batch arrivals)");
  return serves;
}

}  // namespace

Bytes beside_weights(const ReplicaSpec& spec, Bytes memory, Bytes weights, Bytes reserve) {
  const KvCacheSpec& cache = spec.kv_cache;
  if (cache.free_memory_fraction) return *cache.free_memory_fraction * (memory - weights);
  const bool within = engine_in_force(spec.engine).row->preset.reserve_in_fraction;
  return cache.memory_fraction * memory - weights - (within ? reserve : Bytes(0));
}

namespace {

RankMemory rank_memory(const Scenario& s, const ReplicaPlan& replica, int stage) {
  const ReplicaSpec& spec = replica.spec;
  RankMemory memory;
  memory.weights = replica.stages[static_cast<std::size_t>(stage)].weights.on_device;
  memory.activations = activation_reserve(s, spec, replica.rank.links);
  memory.kept_by_requests = kept_by_requests(s, spec, stage);
  memory.kv_per_token = kv_bytes_per_token(s, spec, stage);
  memory.kv_tokens = replica.kv_blocks * spec.kv_cache.block_tokens;
  memory.longest = spec.max_model_len.value_or(s.model.positions);
  return memory;
}

struct Room {  // of every stage, the least: what a device's share of the KV cache has, in blocks
  std::int64_t blocks, own;  // where placement puts them; beside the weights, if the others are the host's
  std::int64_t swap;         // in the host's swap space
  int stage = 0;             // that has the least room for them
};

std::optional<Room> room_of(const Scenario& s, const ReplicaPlan& replica, std::int64_t pools,
                            const std::string& pointer, Reading& reading) {
  const ReplicaSpec& spec = replica.spec;
  const DeviceSpec& device = replica.rank.on->spec();
  const Sharding& cut = spec.parallelism;
  const KvCacheSpec& cache = spec.kv_cache;
  const Bytes memory = device.own().capacity, reserve = activation_reserve(s, spec, replica.rank.links);
  Room room{cache.blocks.value_or(endless), endless, endless};
  std::int64_t least = endless;
  for (int stage = 0; stage < cut.pipeline; ++stage) {
    const auto& [all, weights, in_host, neurons] = replica.stages[static_cast<std::size_t>(stage)].weights;
    if (in_host > Bytes(0) && in_host > replica.rank.host_memory()->capacity) {
      reading.misfit(pointer, fmt::format("{} of {} of weights a device do not fit into its share of {}, {}",
                                          gib(in_host), gib(all), replica.rank.host_memory()->name,
                                          gib(replica.rank.host_memory()->capacity)));
      return {};
    }
    const Bytes block = static_cast<double>(cache.block_tokens) * kv_bytes_per_token(s, spec, stage);
    const Bytes beside = cache.blocks ? memory - weights : beside_weights(spec, memory, weights, reserve);
    const bool elsewhere = replica.rank.keeps_kv_elsewhere() && beside > Bytes(0);
    const Bytes states = kept_by_requests(s, spec, stage);
    const Bytes bytes =
        (elsewhere ? room_elsewhere(replica.rank, stage_layers(s.model, cut, stage), in_host) : beside) -
        states;
    const auto whole_blocks = [&](Bytes b) {
      if (block == Bytes(0)) return endless;  // its layers keep nothing of a token
      return static_cast<std::int64_t>(std::floor(std::max(0.0, b / block)));
    };
    const std::int64_t fits = whole_blocks(bytes);
    if (cache.blocks ? fits < room.blocks : fits < pools) {
      reading.misfit(
          pointer + (cache.blocks ? "/kv_cache/blocks" : ""),
          cache.blocks
              ? fmt::format("{} KV blocks of {:.2f} MiB do not fit: stage {} of {} leaves room for {}",
                            room.blocks, block.value() / 1048576., stage, s.model.name, fits)
              : fmt::format(
                    "{} does not fit on {}: stage {} has {} of weights a device and {} of activations and "
                    "runtime{}, {} of {} may be used{}",
                    s.model.name, device.kind, stage, gib(weights), gib(reserve),
                    states > Bytes(0) ? fmt::format(", and {} of states and windows of {} requests",
                                                    gib(states), spec.batching->max_batch_requests())
                                      : "",
                    gib(cache.memory_fraction * memory), gib(memory), smallest_layout_that_fits(s, replica)));
      return {};
    }
    if (fits < least) least = fits, room.stage = stage;
    if (!cache.blocks) room.blocks = std::min(room.blocks, fits);
    room.own = std::min(room.own, whole_blocks(beside));
    room.swap = std::min(room.swap, whole_blocks(cache.swap_space));
  }
  return room;
}

// As vLLM does at its start: whoever allows a length must be able to serve it.
void check_longest(const ReplicaPlan& replica, const std::string& pointer, Reading& reading) {
  const ReplicaSpec& spec = replica.spec;
  const std::int64_t channel_blocks = std::ranges::max(replica.kv_pools.blocks);
  const auto serves = [&](std::int64_t length) {
    return spec.batching->serves({Seconds(0), length - 1, 1 + spec.drafts()}, channel_blocks,
                                 spec.kv_cache.block_tokens);
  };
  if (!spec.max_model_len || serves(*spec.max_model_len)) return;
  std::int64_t fits = 0, too_long = *spec.max_model_len;
  while (too_long - fits > 1) (serves((fits + too_long) / 2) ? fits : too_long) = (fits + too_long) / 2;
  reading.misfit(pointer + "/max_model_len",
                 fmt::format("a request of {} tokens could not run even alone: the longest that {} KV "
                             "blocks of {} tokens{} and the batching serve is {}",
                             *spec.max_model_len, channel_blocks, spec.kv_cache.block_tokens,
                             channel_blocks < replica.kv_blocks ? " (of one memory channel)" : "", fits));
}

}  // namespace

// States of linear attention and what lies in sliding windows are set aside for as many requests as may run
// at once, as SGLang does (mamba_cache); vLLM takes blocks for them as requests come. Windows of prompts that
// are being computed, which hold a step's tokens more, are left out.
Bytes kept_by_requests(const Scenario& s, const ReplicaSpec& spec, int stage) {
  return static_cast<double>(spec.batching->max_batch_requests()) *
         kv_bytes_per_request(s.model, s.precision, spec.parallelism, stage);
}

Bytes kv_bytes_per_token(const Scenario& s, const ReplicaSpec& spec, int stage) {
  const Sharding& cut = spec.parallelism;
  const Bytes layers = kv_bytes_per_token(s.model, s.precision, cut, stage);
  if (!spec.speculative || stage != cut.pipeline - 1) return layers;
  return layers + draft_kv_bytes_per_token(spec.speculative->drafting, s.model, s.precision, cut);
}

void fit_kv_cache(const Scenario& s, ReplicaPlan& replica, const std::string& pointer, Reading& reading) {
  if (!host_memory_serves(s, replica, pointer, reading)) return;
  const DeviceSpec& device = replica.rank.on->spec();
  const std::int64_t pools = replica.rank.placement->spreads_layers() ? 1 : replica.rank.placed_channels();
  const std::optional<Room> room = room_of(s, replica, pools, pointer, reading);
  if (!room) return;
  if (replica.spec.kv_cache.blocks && room->blocks % pools != 0)
    return reading.problem(pointer + "/kv_cache/blocks",
                           fmt::format("expected a multiple of the {} memory channels of {}, which share "
                                       "the KV cache evenly (got {})",
                                       pools, device.kind, room->blocks));
  KvPools& of = replica.kv_pools = pools_of(replica.rank, room->blocks / pools, room->own);
  replica.kv_blocks = std::accumulate(of.blocks.begin(), of.blocks.end(), std::int64_t{0});
  replica.swap_blocks = room->swap;
  replica.memory = rank_memory(s, replica, room->stage);
  const HeadCounts heads = heads_of_rank(s.model.most_heads(), replica.spec.parallelism);
  replica.mha = {};
  const Memory& memory = replica.rank.kv_memory();
  if (memory.banks > 0) replica.mha.page = memory.page_elements, replica.mha.banks = memory.banks;
  replica.mha.heads = heads.query;
  replica.mha.embedding = heads.query * heads.dim;
  check_longest(replica, pointer, reading);
}

}  // namespace weir
