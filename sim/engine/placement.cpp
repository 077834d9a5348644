#include <fmt/format.h>

#include <algorithm>
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
    if (spec.prefetch->of_one_batch() && spec.batching->interleaves()) {
      reading_.problem(
          pointer + "/prefetch",
          "chooses for one batch a step, and is no bound where the batching policy interleaves two");
      return false;
    }
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

  void fit(ReplicaSpec& spec, const std::string& pointer) {
    const Sharding& cut = spec.parallelism;
    if (cut.tensor > 1 && spec.links.bandwidth <= BytesPerSecond(0)) {
      reading_.problem(pointer + "/parallelism/tensor",
                       "the node has no interconnect between its devices (cluster "
                       "nodes interconnect is \"none\")");
      return;
    }
    for (int stage = 0; stage < cut.pipeline; ++stage)
      if (!can_run(spec, stage, pointer)) return;
    if (s_.collective_flows && spec.links.latency_once)
      return reading_.problem(
          "/collectives", "cannot be \"flows\" over an interconnect whose latency a collective pays once");
    if (s_.collective_flows && overlaps(spec))
      return reading_.problem("/collectives",
                              "cannot be \"flows\" where operators overlap, as those of " + pointer + " do");
    fit_kv_cache(s_, spec, pointer, reading_);
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
  const bool holds_kv = std::ranges::any_of(
      scenario.replicas, [](const ReplicaSpec& spec) { return spec.on && spec.on->spec().host_kv; });
  const bool host_memory =
      std::ranges::any_of(scenario.nodes, [](const NodeSpec& node) { return node.host_memory != nullptr; });
  if (host_memory && !holds_kv && !reading.failed())
    scenario.notes.push_back(
        "the host memory among the devices holds no KV cache (\"partitioning\": {\"kind\": \"gpu_pim\"} puts "
        "it "
        "there); it is neither powered nor paid for");
  if (const std::size_t idle = placer.free_devices({}); idle > 0 && !reading.failed())
    scenario.notes.push_back(fmt::format(
        "{} devices of the cluster serve no replica; they are neither powered nor paid for", idle));
}

}  // namespace weir
