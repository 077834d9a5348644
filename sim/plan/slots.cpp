// The devices of a cluster, one by one.
#include <fmt/format.h>

#include "sim/plan/scenario_parts.h"

namespace weir {

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

}  // namespace weir
