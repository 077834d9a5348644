#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>

#include "devices/dimm_pim/dimm_pim.h"
#include "sim/engine/scenario_parts.h"
#include "sim/engine/step/step_model.h"

namespace weir {
namespace {

struct Slot {
  DevicePlace place;
  const DeviceGroup* group;
  const NodeSpec* node;
  Json::json_pointer described;  // the group in the resolved scenario
  bool taken = false;
};

std::vector<Slot> slots_of(const std::vector<NodeSpec>& nodes) {
  std::vector<Slot> slots;
  int node = 0;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const NodeSpec& spec = nodes[n];
    for (int i = 0; i < spec.count; ++i, ++node) {
      int slot = 0;
      for (std::size_t g = 0; g < spec.devices.size(); ++g)
        for (int d = 0; d < spec.devices[g].count; ++d)
          slots.push_back(
              {{node, slot++},
               &spec.devices[g],
               &spec,
               Json::json_pointer(fmt::format("/cluster/nodes/{}/devices/{}", n, spec.devices[g].index)),
               false});
    }
  }
  return slots;
}

int device_count(const NodeSpec& node) {
  int count = 0;
  for (const DeviceGroup& group : node.devices) count += group.count;
  return count;
}

// The first free devices of the wanted kind, all of one group. A replica no larger than a node stays inside
// one: the first node with enough of them left.
std::vector<Slot*> find_devices(std::vector<Slot>& slots, const std::optional<std::string>& kind,
                                std::size_t count) {
  const auto usable = [&](const Slot& s) {
    return !s.taken && (!kind || s.group->device->spec().kind == *kind);
  };
  std::vector<Slot*> found;
  for (Slot& first : slots) {
    if (!usable(first)) continue;
    std::vector<Slot*> inside, anywhere;
    for (Slot& s : slots) {
      if (!usable(s) || s.group != first.group) continue;
      anywhere.push_back(&s);
      if (s.place.node == first.place.node) inside.push_back(&s);
    }
    if (inside.size() >= count) return {inside.begin(), inside.begin() + static_cast<std::ptrdiff_t>(count)};
    if (found.empty() && anywhere.size() >= count &&
        inside.size() == static_cast<std::size_t>(first.group->count))
      found.assign(anywhere.begin(), anywhere.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return found;
}

std::string gib(Bytes b) {
  return fmt::format("{:.2f} GiB", b.value() / 1073741824.);
}

class Placer {
 public:
  Placer(Scenario& scenario, Reading& reading)
      : s_(scenario), reading_(reading), slots_(slots_of(scenario.nodes)) {}

  void place(ReplicaSpec& spec, const std::string& pointer) {
    const Sharding& cut = spec.parallelism;
    const std::vector<std::string> problems = sharding_problems(s_.model, cut);
    for (const std::string& problem : problems) reading_.problem(pointer + "/parallelism", problem);
    if (!problems.empty() || !spec.batching || !spec.partitioning || !spec.placement || !spec.prefetch)
      return;
    if (const auto kinds = device_kinds(); spec.device && !kinds.contains(*spec.device))
      return reading_.problem(pointer + "/device",
                              no_such("device in the cluster", *spec.device, {kinds.begin(), kinds.end()}));
    const auto per_replica = static_cast<std::size_t>(cut.tensor) * static_cast<std::size_t>(cut.pipeline);
    std::vector<Slot*> first;
    for (int i = 0; i < spec.count; ++i) {
      const std::vector<Slot*> devices = find_devices(slots_, spec.device, per_replica);
      if (devices.empty()) {
        reading_.problem(
            pointer, fmt::format("no room for replica {} of {}: it needs {} {} (tensor {} x "
                                 "pipeline {}), the cluster has {} left",
                                 i + 1, spec.count, per_replica, spec.device.value_or("devices of one kind"),
                                 cut.tensor, cut.pipeline, free_devices(spec.device)));
        return;
      }
      if (first.empty()) first = devices;
      if (const std::string what = differs(first, devices); !what.empty()) {
        reading_.problem(pointer,
                         fmt::format("replica {} of {} would have {} than the first: give it an entry of its "
                                     "own in replicas, with \"device\" where kinds differ",
                                     i + 1, spec.count, what));
        return;
      }
      take(spec, devices);
    }
    if (!join_host_memory(spec, *first[0]->node, pointer)) return;
    fit(spec, pointer);
  }

  std::size_t free_devices(const std::optional<std::string>& kind) const {
    return static_cast<std::size_t>(std::count_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
      return !slot.taken && (!kind || slot.group->device->spec().kind == *kind);
    }));
  }

 private:
  std::set<std::string> device_kinds() const {
    std::set<std::string> kinds;
    for (const Slot& slot : slots_) kinds.insert(slot.group->device->spec().kind);
    return kinds;
  }

  // The replicas of a group are simulated with one model of their steps, so that their machines must be
  // alike.
  std::string differs(const std::vector<Slot*>& first, const std::vector<Slot*>& other) const {
    const auto device = [&](const Slot* slot) {
      Json json = reading_.resolved[slot->described];
      json.erase("count");
      return json;
    };
    if (first[0]->group != other[0]->group && device(first[0]) != device(other[0])) return "other devices";
    if (first[0]->node->interconnect != other[0]->node->interconnect) return "another interconnect";
    if (first[0]->node->host_memory != other[0]->node->host_memory) return "another host memory";
    if (crosses_nodes(first) != crosses_nodes(other)) return "more or fewer nodes";
    return "";
  }
  static bool crosses_nodes(const std::vector<Slot*>& devices) {
    return devices.front()->place.node != devices.back()->place.node;
  }

  void take(ReplicaSpec& spec, const std::vector<Slot*>& devices) {
    const auto tensor = static_cast<std::size_t>(spec.parallelism.tensor);
    ReplicaPlace place(static_cast<std::size_t>(spec.parallelism.pipeline));
    for (std::size_t i = 0; i < devices.size(); ++i) {
      devices[i]->taken = true;
      place[i / tensor].push_back(devices[i]->place);
    }
    spec.places.push_back(std::move(place));
    if (spec.on) return;
    spec.on = devices[0]->group->device;
    spec.links = devices[0]->node->interconnect;
    const bool across = std::any_of(spec.places[0].begin(), spec.places[0].end(), [](const auto& stage) {
      return stage.front().node != stage.back().node;
    });
    if (across) {  // a ring through consecutive devices crosses each node's link once
      spec.links.name = "network";
      spec.links.shape = LinkShape::ring;
      spec.links.bandwidth = spec.links.bandwidth > BytesPerSecond(0)
                                 ? std::min(spec.links.bandwidth, s_.network.link_bandwidth)
                                 : s_.network.link_bandwidth;
      spec.links.latency = 2 * s_.network.link_latency;
      spec.links.latency_once = false;
    } else if (spec.links.shape == LinkShape::full_mesh && tensor > 1) {
      // Of each device's links, one to every other of its node, a smaller group uses those between its own.
      const double links = device_count(*devices[0]->node) - 1;
      spec.links.bandwidth = static_cast<double>(tensor - 1) / links * spec.links.bandwidth;
    }
    spec.collectives =
        make_collectives(spec.links, s_.collective_flows ? "" : spec.engine.collective_library);
  }

  bool join_host_memory(ReplicaSpec& spec, const NodeSpec& node, const std::string& pointer) {
    if (!spec.partitioning->keeps_kv_in_host_memory() || !node.host_memory) return true;
    const int sharers = device_count(node);
    const std::string why = cannot_share(*node.host_memory, sharers);
    if (why.empty())
      spec.on = with_host_memory(spec.on, *node.host_memory, sharers, spec.partitioning->uses_spare_memory());
    else
      reading_.problem(pointer + "/partitioning", node.host_memory->spec().kind + ": " + why);
    return why.empty();
  }

  bool can_run(const ReplicaSpec& spec, int stage, const std::string& pointer) {
    StageGraph placed;
    const char* policy = "/partitioning";
    try {
      placed = partitioned_stage(s_, spec, stage);
      policy = "/prefetch";
      placed = with_prefetches(spec, std::move(placed));
    } catch (const UnfitKey& refused) {
      reading_.problem(pointer + policy + "/" + refused.key, refused.what());
      return false;
    } catch (const std::invalid_argument& refused) {
      reading_.problem(pointer + policy, refused.what());
      return false;
    }
    const std::string why = spec.on->cannot_run(placed);
    if (!why.empty()) reading_.problem(pointer, why);
    return why.empty();
  }

  // Flows come after the kernels of a step.
  bool overlaps(const ReplicaSpec& spec) const {
    return spec.batching->interleaves() || !StepModel(spec, placed_stage(s_, spec, 0), false).serial();
  }

  // Those that a placement policy deals out: all but the device's own memory beside its host's.
  static std::int64_t placed_channels(const DeviceSpec& device) {
    return device.kv_channels - (device.host_kv && device.host_kv->beside_device ? 1 : 0);
  }

  static KvPools pools_of(const ReplicaSpec& spec, std::int64_t each, std::int64_t own) {
    const bool spread = spec.placement->spreads_layers();
    const auto placed = static_cast<std::size_t>(placed_channels(spec.on->spec()));
    KvPools pools{std::vector(spread ? 1 : placed, each), std::vector(placed, 0)};
    if (!spread) std::iota(pools.of_channel.begin(), pools.of_channel.end(), 0);
    if (spec.on->spec().kv_channels > std::ssize(pools.of_channel)) {
      pools.of_channel.push_back(static_cast<int>(pools.blocks.size()));
      pools.blocks.push_back(own);
    }
    return pools;
  }

  // Where the layers of a request go round the channels and do not divide by them, one holds a layer more
  // than another: all are as full as that one.
  static Bytes host_room(const ReplicaSpec& spec, std::int64_t layers) {
    const std::int64_t channels = placed_channels(spec.on->spec());
    const std::int64_t most = (layers + channels - 1) / channels * channels;
    const double used = static_cast<double>(layers) / static_cast<double>(most);
    return (spec.placement->spreads_layers() ? used : 1) * spec.on->spec().host_kv->capacity;
  }

  void fit(ReplicaSpec& spec, const std::string& pointer) {
    const Sharding& cut = spec.parallelism;
    if (cut.tensor > 1 && spec.links.bandwidth <= BytesPerSecond(0)) {
      reading_.problem(pointer + "/parallelism/tensor",
                       "the node has no interconnect between its devices (cluster "
                       "nodes interconnect is \"none\")");
      return;
    }
    const KvCacheSpec& cache = spec.kv_cache;
    const Bytes memory = spec.on->spec().memory, reserve = activation_reserve(s_, spec);
    std::int64_t blocks = cache.blocks.value_or(std::int64_t{1} << 50);
    const bool spread = spec.placement->spreads_layers();
    if (spread && spec.on->spec().kv_channels > 1 && !spec.on->spec().host_kv)
      return reading_.problem(
          pointer + "/placement",
          fmt::format("layers go round the ranksets of a host memory (gpu_pim, dimm_pim); in {} a request's "
                      "are all in one channel",
                      spec.on->spec().kind));
    const std::int64_t channels = placed_channels(spec.on->spec()), pools = spread ? 1 : channels;
    std::int64_t own = std::int64_t{1}
                       << 50;  // blocks beside the weights, where the others are in the host's memory
    for (int stage = 0; stage < cut.pipeline; ++stage) {
      if (!can_run(spec, stage, pointer)) return;
      const Bytes weights = weight_bytes(s_.model, s_.precision, cut, stage);
      const Bytes block =
          static_cast<double>(cache.block_tokens) * kv_bytes_per_token(s_.model, s_.precision, cut, stage);
      const Bytes beside = cache.blocks                 ? memory - weights
                           : cache.free_memory_fraction ? *cache.free_memory_fraction * (memory - weights)
                                                        : cache.memory_fraction * memory - weights - reserve;
      const std::int64_t layers = stage_layers(s_.model, cut, stage);
      const Bytes room = spec.on->spec().host_kv && beside > Bytes(0) ? host_room(spec, layers) : beside;
      const auto fits = static_cast<std::int64_t>(std::floor(std::max(0.0, room / block)));
      if (cache.blocks ? fits < blocks : fits < pools) {
        reading_.misfit(
            pointer + (cache.blocks ? "/kv_cache/blocks" : ""),
            cache.blocks
                ? fmt::format("{} KV blocks of {:.2f} MiB do not fit: stage {} of {} leaves room for {}",
                              blocks, block.value() / 1048576., stage, s_.model.name, fits)
                : fmt::format(
                      "{} does not fit on {}: stage {} has {} of weights a device and {} of activations and "
                      "runtime, {} of {} may be used",
                      s_.model.name, spec.on->spec().kind, stage, gib(weights), gib(reserve),
                      gib(cache.memory_fraction * memory), gib(memory)));
        return;
      }
      if (!cache.blocks) blocks = std::min(blocks, fits);
      own = std::min(own, static_cast<std::int64_t>(std::floor(std::max(0.0, beside / block))));
    }
    if (s_.collective_flows && spec.links.latency_once)
      return reading_.problem(
          "/collectives", "cannot be \"flows\" over an interconnect whose latency a collective pays once");
    if (s_.collective_flows && overlaps(spec))
      return reading_.problem("/collectives",
                              "cannot be \"flows\" where operators overlap, as those of " + pointer + " do");
    if (cache.blocks && blocks % pools != 0)
      return reading_.problem(pointer + "/kv_cache/blocks",
                              fmt::format("expected a multiple of the {} memory channels of {}, which share "
                                          "the KV cache evenly (got {})",
                                          pools, spec.on->spec().kind, blocks));
    spec.kv_pools = pools_of(spec, blocks / pools, own);
    spec.kv_blocks =
        std::accumulate(spec.kv_pools.blocks.begin(), spec.kv_pools.blocks.end(), std::int64_t{0});
    const std::int64_t heads = heads_of_rank(s_.model, cut).query;
    spec.mha = spec.on->spec().mha.value_or(MhaParameters{});
    spec.mha.heads = heads;
    spec.mha.embedding = heads * s_.model.head_dim;
    check_longest(spec, pointer);
  }

  // As vLLM does at its start: whoever allows a length must be able to serve it.
  void check_longest(const ReplicaSpec& spec, const std::string& pointer) {
    const std::int64_t channel_blocks = std::ranges::max(spec.kv_pools.blocks);
    const auto serves = [&](std::int64_t length) {
      return spec.batching->serves({Seconds(0), length - 1, 1}, channel_blocks, spec.kv_cache.block_tokens);
    };
    if (!spec.max_model_len || serves(*spec.max_model_len)) return;
    std::int64_t fits = 0, too_long = *spec.max_model_len;
    while (too_long - fits > 1) (serves((fits + too_long) / 2) ? fits : too_long) = (fits + too_long) / 2;
    reading_.misfit(pointer + "/max_model_len",
                    fmt::format("a request of {} tokens could not run even alone: the longest that {} KV "
                                "blocks of {} tokens{} and the batching serve is {}",
                                *spec.max_model_len, channel_blocks, spec.kv_cache.block_tokens,
                                channel_blocks < spec.kv_blocks ? " (of one memory channel)" : "", fits));
  }

  Scenario& s_;
  Reading& reading_;
  std::vector<Slot> slots_;
};

}  // namespace

void place_replicas(Scenario& scenario, Reading& reading) {
  Placer placer(scenario, reading);
  for (std::size_t i = 0; i < scenario.replicas.size(); ++i)
    placer.place(scenario.replicas[i], fmt::format("/serving/replicas/{}", i));
  if (const std::size_t idle = placer.free_devices({}); idle > 0 && !reading.failed())
    scenario.notes.push_back(fmt::format(
        "{} devices of the cluster serve no replica; they are neither powered nor paid for", idle));
}

}  // namespace weir
