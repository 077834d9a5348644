// The devices of a cluster, one by one, and which of them a replica gets.
#include <fmt/format.h>

#include <map>

#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

// The slots of nodes of which nothing is taken.
std::vector<Slot*> in_free_nodes(const std::vector<Slot*>& slots) {
  std::map<int, int> left;
  for (const Slot* slot : slots) ++left[slot->place.node];
  std::vector<Slot*> found;
  for (Slot* slot : slots)
    if (left[slot->place.node] == slot->group->count) found.push_back(slot);
  return found;
}

}  // namespace

std::vector<Slot> slots_of(const std::vector<NodeSpec>& nodes) {
  std::vector<Slot> slots;
  int node = 0;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const NodeSpec& spec = nodes[n];
    for (int i = 0; i < spec.count; ++i, ++node) {
      int slot = 0;
      for (const DeviceGroup& group : spec.devices)
        for (int d = 0; d < group.count; ++d)
          slots.push_back({{node, slot++},
                           &group,
                           &spec,
                           Json::json_pointer(fmt::format("/cluster/nodes/{}/devices/{}", n, group.index)),
                           d,
                           false});
    }
  }
  return slots;
}

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
        inside.size() == static_cast<std::size_t>(first.group->count)) {
      if (const std::vector<Slot*> free = in_free_nodes(anywhere); free.size() >= count) anywhere = free;
      found.assign(anywhere.begin(), anywhere.begin() + static_cast<std::ptrdiff_t>(count));
    }
  }
  return found;
}

}  // namespace weir
