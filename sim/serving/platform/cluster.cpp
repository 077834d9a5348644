#include "sim/serving/platform/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <simgrid/s4u.hpp>

#include "sim/serving/platform/node_zone.h"

namespace weir {
namespace sg4 = simgrid::s4u;
namespace {

using NetPoint = simgrid::kernel::routing::NetPoint;

Senders senders_of(const Scenario& scenario) {
  const auto any = [&](auto holds) { return std::ranges::any_of(scenario.replicas, holds); };
  const bool peers = scenario.collective_flows || any([](const ReplicaSpec& spec) {
                       return spec.role != Role::both || spec.parallelism.pipeline > 1;
                     });
  const bool to_host = any([](const ReplicaSpec& spec) {
    return spec.kv_cache.preemption == Preemption::swap || spec.batching->moves_kv_caches() ||
           !spec.kv_cache.tiers.empty();
  });
  // Between nodes collectives share PCIe with what goes to a host.
  const bool groups = any([](const ReplicaSpec& spec) { return spec.parallelism.ranks() > 1; });
  return {peers || (to_host && groups), peers || to_host};
}

// The smallest regular shape that holds `nodes` leaves; leaves beyond them stay empty.
std::vector<unsigned long> torus_dimensions(unsigned long nodes) {
  const auto side = static_cast<unsigned long>(std::ceil(std::cbrt(static_cast<double>(nodes)) - 1e-9));
  const unsigned long y = std::max(1ul, std::min(side, nodes));
  const unsigned long z = std::max(1ul, (nodes + side * y - 1) / (side * y));
  return {side, y, z};
}

}  // namespace

Cluster::Cluster(const Scenario& scenario, bool shared) {
  std::vector<const NodeSpec*> specs;
  for (const NodeSpec& spec : scenario.nodes)
    specs.insert(specs.end(), static_cast<std::size_t>(spec.count), &spec);
  const auto count = static_cast<unsigned long>(specs.size());
  const NetworkSpec& network = scenario.network;
  int links = 1;
  for (const NodeSpec* spec : specs) links = std::max(links, network.links_of(spec->device_count()));
  const BytesPerSecond of_a_node = static_cast<double>(links) * network.link_bandwidth;
  const double bandwidth = of_a_node.value(), latency = network.link_latency.value();
  const std::string& topology = count > 1 ? network.topology : "star";
  const Senders senders = shared ? Senders{true, true} : senders_of(scenario);
  has_links_ = senders.any;

  const auto keep = [&](const BuiltNode& built, unsigned long i) {
    nodes_.push_back({built.host, built.memory, built.devices, specs[i]});
    return built;
  };
  if (!senders.any) {
    sg4::NetZone* zone = sg4::create_empty_zone("hosts");
    for (unsigned long i = 0; i < count; ++i) keep(build_hosts(*specs[i], static_cast<int>(i), zone), i);
    zone->seal();
    return;
  }
  std::vector<NodeWires> wires;
  const auto wire_all = [&](sg4::NetZone* root) {
    for (unsigned long i = 0; i < count; ++i)
      wires.push_back(wire_node(*specs[i], static_cast<int>(i), network, root));
  };
  const auto add = [&](sg4::NetZone* parent, unsigned long i) {
    return keep(build_node(*specs[i], static_cast<int>(i), wires[i], parent, senders.peers), i);
  };
  if (topology == "star" || topology == "full_mesh") {
    sg4::NetZone* root =
        topology == "star" ? sg4::create_star_zone("network") : sg4::create_full_zone("network");
    wire_all(root);
    std::vector<BuiltNode> built;
    for (unsigned long i = 0; i < count; ++i) built.push_back(add(root, i));
    for (unsigned long a = 0; a < count; ++a) {
      if (topology == "star") {
        const auto* wire = root->create_split_duplex_link(fmt::format("node{}.network", a), bandwidth)
                               ->set_latency(latency)
                               ->seal();
        root->add_route(built[a].zone->get_netpoint(), nullptr, built[a].gateway, nullptr,
                        {{wire, sg4::LinkInRoute::Direction::UP}}, true);
      }
      for (unsigned long b = 0; topology == "full_mesh" && b < count; ++b) {
        if (a == b) continue;
        root->add_route(
            built[a].zone->get_netpoint(), built[b].zone->get_netpoint(), built[a].gateway, built[b].gateway,
            route({link(root, fmt::format("mesh{}-{}", a, b), of_a_node, network.link_latency)}), false);
      }
    }
    root->seal();
    return;
  }
  sg4::NetZone* parent = sg4::create_empty_zone("root");
  wire_all(parent);
  const sg4::ClusterCallbacks leaves(
      [&](sg4::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
        if (id < count) {
          const BuiltNode built = add(zone, id);
          return std::make_pair(built.zone->get_netpoint(), built.gateway);
        }
        NetPoint* empty = zone->create_router(fmt::format("empty{}", id));
        return std::make_pair(empty, static_cast<NetPoint*>(nullptr));
      });
  const auto duplex = sg4::Link::SharingPolicy::SPLITDUPLEX;
  const auto side = static_cast<unsigned>(std::ceil(std::sqrt(static_cast<double>(count)) - 1e-9));
  sg4::NetZone* zone = nullptr;
  if (topology == "fat_tree") {  // two levels, full bisection
    const unsigned switches = (static_cast<unsigned>(count) + side - 1) / side;
    zone = sg4::create_fatTree_zone("network", parent, {2, {side, switches}, {1, side}, {1, 1}}, leaves,
                                    bandwidth, latency, duplex);
  } else if (topology == "torus") {
    zone = sg4::create_torus_zone("network", parent, torus_dimensions(count), leaves, bandwidth, latency,
                                  duplex);
  } else {  // dragonfly: groups of one chassis with `side` routers of one node each
    const unsigned groups = (static_cast<unsigned>(count) + side - 1) / side;
    zone = sg4::create_dragonfly_zone("network", parent, {{groups, 1}, {1, 1}, {side, 1}, 1}, leaves,
                                      bandwidth, latency, duplex);
  }
  zone->seal();
  parent->seal();
}

sg4::Host* Cluster::device(DevicePlace place) const {
  return nodes_[static_cast<std::size_t>(place.node)].devices[static_cast<std::size_t>(place.slot)];
}

sg4::Host* Cluster::host_memory(int node) const {
  return nodes_[static_cast<std::size_t>(node)].memory;
}

const Availability* Cluster::availability(DevicePlace place) const {
  int slot = place.slot;
  for (const DeviceGroup& group : nodes_[static_cast<std::size_t>(place.node)].spec->devices) {
    if (slot < group.count) return group.availability_of(slot);
    slot -= group.count;
  }
  return nullptr;
}

const Availability* Cluster::memory_availability(int node) const {
  const Availability& of = nodes_[static_cast<std::size_t>(node)].spec->host_availability;
  return of.always() ? nullptr : &of;
}

sg4::Host* Cluster::node(int node) const {
  return nodes_[static_cast<std::size_t>(node)].host;
}

}  // namespace weir
