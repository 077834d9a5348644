// The links of a replica's tensor-parallel groups: of one interconnect, or over nodes as well.
#include <algorithm>
#include <set>

#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

// A group that is smaller than the node uses of each device's links those between its own.
LinkSpec inside_of(const NodeSpec& node, int devices) {
  LinkSpec links = node.interconnect;
  if (links.shape == LinkShape::full_mesh && devices > 1) {
    const double others = node.device_count() - 1;
    links.bandwidth = static_cast<double>(devices - 1) / others * links.bandwidth;
  }
  return links;
}

// To a device of another node, past the PCIe of both.
Seconds latency_between(const NetworkSpec& network) {
  return 2 * (pcie_latency + network.link_latency);
}

// A device's share when so many of its node send at once: links are dealt out to devices in order.
BytesPerSecond rail_of(const NodeSpec& node, const NetworkSpec& network, int active) {
  const int devices = node.device_count(), links = network.links_of(devices), nics = std::min(links, devices);
  const int sharing = std::min(active, (devices + nics - 1) / nics);
  return static_cast<double>(links) / nics / sharing * network.link_bandwidth;
}

// Through consecutive devices: it crosses each node's link once. Nobody measured that one.
LinkSpec ring_over_nodes(const LinkSpec& inside, const NetworkSpec& network) {
  const BytesPerSecond bandwidth = inside.bandwidth > BytesPerSecond(0)
                                       ? std::min(inside.bandwidth, network.link_bandwidth)
                                       : network.link_bandwidth;
  return {.name = "network",
          .shape = LinkShape::ring,
          .bandwidth = bandwidth,
          .latency = latency_between(network)};
}

}  // namespace

ReplicaPlace tensor_groups(const ReplicaPlace& place, const Sharding& cut) {
  ReplicaPlace groups;
  for (const auto& stage : place)
    for (auto first = stage.begin(); first < stage.end(); first += cut.tensor)
      groups.emplace_back(first, first + cut.tensor);
  return groups;
}

std::vector<std::map<int, int>> spread_of(const ReplicaPlace& place) {
  std::vector<std::map<int, int>> stages;
  for (const auto& stage : place) {
    std::map<int, int> devices;  // by node, counted from the stage's first
    for (const DevicePlace& at : stage) ++devices[at.node - stage.front().node];
    stages.push_back(std::move(devices));
  }
  return stages;
}

GroupLinks links_between(const ReplicaPlace& place, const NodeSpec& node, const NetworkSpec& network) {
  std::set<std::size_t> nodes;
  std::set<int> in_a_node;
  for (const auto& stage : spread_of(place)) {
    nodes.insert(stage.size());
    for (const auto& [at, devices] : stage) in_a_node.insert(devices);
  }
  const int together = *in_a_node.rbegin();
  const LinkSpec inside = inside_of(node, together);
  if (*nodes.rbegin() == 1) return {inside, {}};
  if (nodes.size() > 1 || in_a_node.size() > 1) return {ring_over_nodes(inside, network), {}};
  const LinkSpec rail{
      .name = "network", .bandwidth = rail_of(node, network, together), .latency = latency_between(network)};
  return {inside, NodeLevels{static_cast<int>(*nodes.begin()), together, rail}};
}

Rank::Group group_of(const ReplicaPlace& groups, const NodeSpec& node, const NetworkSpec& network,
                     const std::string& library) {
  const GroupLinks of = links_between(groups, node, network);
  return {of.links, of.levels,
          of.levels ? make_collectives_by_level(of.links, library, *of.levels)
                    : make_collectives(of.links, library)};
}

}  // namespace weir
