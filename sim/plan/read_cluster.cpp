#include <fmt/format.h>

#include <algorithm>

#include "sim/plan/scenario_parts.h"

namespace weir {

std::vector<NamedSummary> topologies() {
  return {
      {"star", "every node on one switch"},
      {"fat_tree", "two levels of switches with full bisection bandwidth"},
      {"dragonfly", "groups of routers, all groups joined pairwise"},
      {"torus", "three dimensions, as near to a cube as the nodes allow"},
      {"full_mesh", "a link between every two nodes"},
  };
}

namespace {

// SimGrid looks every link up by name in every node's zone: 8,192 devices take 3 s, 16,384 take 20 s.
constexpr std::int64_t most_nodes = 4096, most_in_a_node = 1024, most_devices = 16384;
constexpr int most_in_a_mesh = 1024;  // a million links

int read_count(Params& params) {
  return static_cast<int>(
      params.integer({"count", "Devices of this kind in the node."}, {1, most_in_a_node}, 1));
}

void describe_groups(Params& params) {
  for (auto& [kind, schema] : device_alternatives()) {
    schema["description"] =
        "What the devices are: a name of `weir list devices`, or the path of a file with the keys of "
        "devices/catalog/*.json.";
    Params alternative = params.alternative(std::move(schema), false);
    DeviceGroup group;
    group.count = read_count(alternative);
    make_device(kind, alternative);
    read_availability(alternative, group);
    alternative.close();
  }
}

DeviceGroup read_group(Params params, const std::string& assumptions) {
  DeviceGroup group;
  if (params.describing()) return describe_groups(params), group;
  const Json* named = params.value({"kind", ""}, {});
  const std::string kind = named && named->is_string() ? named->get<std::string>() : "";
  if (named && kind.empty()) params.fail("kind", "expected the name of a device, or the path of its file");
  group.count = read_count(params);
  if (!kind.empty()) group.device = make_device(kind, params, assumptions);
  read_availability(params, group);
  if (kind.empty())
    params.close_ignoring_rest();
  else
    params.close();
  return group;
}

// Host memory stands in the list too, once.
void read_devices(Params& params, const std::string& assumptions, NodeSpec& node) {
  std::size_t index = 0;
  for (Params& entry : params.list({"devices", "The node's devices, alike ones together."}, 1,
                                   Params::Presence::required, most_in_a_node + 1)) {
    DeviceGroup group = read_group(std::move(entry), assumptions);
    group.index = index++;
    auto memory = std::dynamic_pointer_cast<const HostMemory>(group.device);
    if (!memory) {
      node.devices.push_back(std::move(group));
    } else if (group.count > 1 || node.host_memory) {
      params.fail(
          "devices",
          "expected at most one host memory in a node; its channels and ranksets say how large it is");
    } else {
      node.host_memory = std::move(memory);
      node.host_availability = group.availability;
    }
  }
  if (node.devices.empty())
    params.fail("devices", "expected a device that runs models; host memory does not");
}

void note_far_links(Params& params, BytesPerSecond bandwidth, Seconds latency,
                    const std::string& prefix = "") {
  double most_gb_per_s = 0, most_us = 0;
  for (const std::string& name : interconnect_names()) {
    const LinkSpec links = find_interconnect(name);
    most_gb_per_s = std::max(most_gb_per_s, links.bandwidth.value() / 1e9);
    most_us = std::max(most_us, links.latency.value() * 1e6);
  }
  params.note_if_beyond((prefix + "bandwidth_gb_per_s").c_str(), bandwidth.value() / 1e9, most_gb_per_s);
  params.note_if_beyond((prefix + "latency_us").c_str(), latency.value() * 1e6, most_us);
}

// Entries are counted before they are read: each takes a tenth of a millisecond.
bool too_many_entries(const std::vector<Params>& nodes) {
  std::size_t entries = 0;
  for (const Params& node : nodes) entries += node.items("devices");
  return entries > most_devices + nodes.size();  // a host memory each
}

}  // namespace

std::vector<NodeSpec> read_nodes(Params& cluster, const std::string& assumptions) {
  std::vector<NodeSpec> nodes;
  std::int64_t total_nodes = 0, total_devices = 0;
  std::vector<Params> entries =
      cluster.list({"nodes", "The nodes, alike ones together."}, 1, Params::Presence::required, most_nodes);
  if (too_many_entries(entries)) {
    cluster.fail("nodes", fmt::format("expected at most {} devices in all", most_devices));
    return nodes;
  }
  for (Params& params : entries) {
    NodeSpec node;
    node.count = static_cast<int>(params.integer({"count", "Nodes like this one."}, {1, most_nodes}, 1));
    read_devices(params, assumptions, node);
    node.interconnect = read_interconnect(params);
    note_far_links(params, node.interconnect.bandwidth, node.interconnect.latency, "interconnect/");
    params.close();
    std::int64_t in_node = 0;
    for (const DeviceGroup& group : node.devices) in_node += group.count;
    if (in_node > most_in_a_node)
      params.fail("devices", fmt::format("expected at most {} in a node, got {}", most_in_a_node, in_node));
    total_nodes += node.count;
    total_devices += node.count * in_node;
    nodes.push_back(std::move(node));
  }
  if (total_nodes > most_nodes || total_devices > most_devices)
    cluster.fail("nodes", fmt::format("expected at most {} nodes and {} devices in all, got {} and {}",
                                      most_nodes, most_devices, total_nodes, total_devices));
  return nodes;
}

int NodeSpec::device_count() const {
  int all = 0, of_models = 0;
  for (const DeviceGroup& group : devices) {
    all += group.count;
    if (group.device && group.device->spec().runs_models()) of_models += group.count;
  }
  return of_models > 0 ? of_models : all;
}

NetworkSpec read_network(Params params, const std::vector<NodeSpec>& nodes) {
  std::vector<std::string> known;
  for (const NamedSummary& t : topologies()) known.push_back(t.name);
  NetworkSpec network;
  network.topology =
      params.choice({"topology", "Between nodes; see `weir list topologies`."}, known, "fat_tree");
  int joined = 0;
  for (const NodeSpec& node : nodes) joined += node.count;
  if (network.topology == "full_mesh" && joined > most_in_a_mesh)
    params.fail("topology", fmt::format("full_mesh joins at most {} nodes, each to each, got {}",
                                        most_in_a_mesh, joined));
  network.link_bandwidth = params.quantity<BytesPerSecond>(
      {"link_bandwidth_gb_per_s",
       "Of each link and direction (400 Gbit/s); links_per_node of them join a node to the network."},
      positive, 50);
  network.link_latency = params.quantity<Seconds>({"link_latency_us", "Of each link."}, not_negative, 5);
  if (const auto links = params.integer_or_null(
          {"links_per_node", "NICs of a node, dealt out to its devices in order; null: one a device."},
          {1, most_in_a_node}))
    network.links_per_node = static_cast<int>(*links);
  params.close();
  note_far_links(params, network.link_bandwidth, network.link_latency, "link_");
  return network;
}

}  // namespace weir
