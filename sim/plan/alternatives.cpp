// Messages offer what would do instead: whoever of the catalogs says of itself that it is so.
#include <fmt/ranges.h>

#include "devices/host_memory/host_memory.h"
#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

std::string any_of(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, " or "));
}

}  // namespace

std::string partitioning_into_host_memory(bool HostMemoryUse::*what) {
  return any_of(names_of(partitioning_policies(),
                         [what](const PartitioningPolicy& policy) { return policy.host_memory().*what; }));
}

std::string placement_of_layers() {
  return any_of(names_of(placement_policies(),
                         [](const ChannelPlacementPolicy& policy) { return policy.spreads_layers(); }));
}

std::string host_memories() {
  std::vector<std::string> names;
  const Json nothing = Json::object();
  for (const std::string& name : device_names()) {
    Reading reading("");
    Params params(reading, nothing);
    const auto device = make_device(name, params);
    if (std::dynamic_pointer_cast<const HostMemory>(device)) names.push_back(name);
  }
  return any_of(names);
}

}  // namespace weir
