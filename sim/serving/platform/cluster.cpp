#include "sim/serving/platform/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <simgrid/kernel/ProfileBuilder.hpp>
#include <simgrid/s4u.hpp>

namespace weir {
namespace sg4 = simgrid::s4u;
namespace {

using NetPoint = simgrid::kernel::routing::NetPoint;
using Route = std::vector<sg4::LinkInRoute>;

constexpr double second_a_second = 1;  // hosts execute times, which come from the latency models

struct Wires {                                        // of one device
  sg4::Link *out = nullptr, *in = nullptr;            // to and from its peers
  sg4::Link *pcie_out = nullptr, *pcie_in = nullptr;  // to and from host and network
  sg4::Link *nic_out = nullptr, *nic_in = nullptr;    // to and from the network
};

struct BuiltNode {
  sg4::NetZone* zone;
  NetPoint* gateway;
  sg4::Host *host, *memory;
  std::vector<sg4::Host*> devices;
};

// A host of a device, or of as many as share one.
sg4::Host* host(sg4::NetZone* zone, const std::string& name, const Availability* availability,
                int shared_by = 1) {
  sg4::Host* made = zone->create_host(name, second_a_second)->set_core_count(shared_by);
  if (availability && !availability->speed.empty()) {
    std::string changes;
    for (const auto& [time, factor] : availability->speed)
      changes += fmt::format("{:.17g} {:.17g}\n", time.value(), factor);
    made->set_speed_profile(
        simgrid::kernel::profile::ProfileBuilder::from_string(name + " speed", changes, -1));
  }
  return made->seal();
}

sg4::Link* link(sg4::NetZone* zone, const std::string& name, BytesPerSecond bandwidth, Seconds latency) {
  return zone->create_link(name, bandwidth.value())->set_latency(latency.value())->seal();
}

Route route(std::initializer_list<sg4::Link*> links) {
  Route made;
  for (sg4::Link* l : links)
    if (l) made.emplace_back(l);
  return made;
}

// Between two devices of a node, the way their interconnect's shape has it; without one, through the host's
// PCIe.
Route peer_route(sg4::NetZone* zone, const std::string& name, const LinkSpec& links,
                 const std::vector<Wires>& wires, std::size_t a, std::size_t b) {
  if (links.bandwidth <= BytesPerSecond(0)) return route({wires[a].pcie_out, wires[b].pcie_in});
  if (links.shape == LinkShape::full_mesh) {
    const auto pairs = static_cast<double>(wires.size() - 1);
    return route({link(zone, fmt::format("{}.mesh{}-{}", name, a, b),
                       BytesPerSecond(links.bandwidth.value() / pairs), links.latency)});
  }
  if (links.shape == LinkShape::switched) return route({wires[a].out, wires[b].in});
  // A ring: `out` goes to the next device, `in` comes from it; take the shorter way round.
  const std::size_t n = wires.size(), forward = (b + n - a) % n;
  Route way;
  if (forward <= n - forward)
    for (std::size_t i = a; i != b; i = (i + 1) % n) way.emplace_back(wires[i].out);
  else
    for (std::size_t i = a; i != b; i = (i + n - 1) % n) way.emplace_back(wires[(i + n - 1) % n].in);
  return way;
}

// Devices that send over links: collectives in closed form do not, and links and n x n routes cost more than
// many a run.
struct Senders {
  bool peers;  // devices, to others of their node
  bool any;    // devices, to their host or beyond
};

Senders senders_of(const Scenario& scenario) {
  const auto any = [&](auto holds) { return std::ranges::any_of(scenario.replicas, holds); };
  const bool peers = scenario.collective_flows || any([](const ReplicaSpec& spec) {
                       return spec.role != Role::both || spec.parallelism.pipeline > 1;
                     });
  return {peers, peers || any([](const ReplicaSpec& spec) {
                   return spec.kv_cache.preemption == Preemption::swap || spec.batching->moves_kv_caches();
                 })};
}

int device_count(const NodeSpec& node) {
  int count = 0;
  for (const DeviceGroup& group : node.devices) count += group.count;
  return count;
}

// The links of a node to the network, dealt out to its devices in order; several of one device are one link.
void add_nics(sg4::NetZone* zone, const std::string& node, const NetworkSpec& network,
              std::vector<Wires>& wires) {
  const int devices = static_cast<int>(wires.size());
  const int links = static_cast<int>(network.links_of(devices)), nics = std::min(links, devices);
  const BytesPerSecond bandwidth = static_cast<double>(links) / nics * network.link_bandwidth;
  int made = -1;
  for (int device = 0; device < devices; ++device) {
    Wires& w = wires[static_cast<std::size_t>(device)];
    const int nic = device * nics / devices;
    if (nic == made) {
      w.nic_out = wires[static_cast<std::size_t>(device - 1)].nic_out;
      w.nic_in = wires[static_cast<std::size_t>(device - 1)].nic_in;
      continue;
    }
    made = nic;
    w.nic_out = link(zone, fmt::format("{}.nic{}_out", node, nic), bandwidth, Seconds(0));
    w.nic_in = link(zone, fmt::format("{}.nic{}_in", node, nic), bandwidth, Seconds(0));
  }
}

BuiltNode build_node(const NodeSpec& spec, int index, const NetworkSpec& network, sg4::NetZone* parent,
                     Senders senders) {
  const std::string name = fmt::format("node{}", index);
  sg4::NetZone* zone = sg4::create_full_zone(name)->set_parent(parent);
  BuiltNode node{zone, zone->create_router(name + ".switch"), host(zone, name, nullptr), nullptr, {}};
  std::vector<Wires> wires;
  const Seconds hop = spec.interconnect.shape == LinkShape::switched ? spec.interconnect.latency / 2
                                                                     : spec.interconnect.latency;
  for (const DeviceGroup& group : spec.devices) {
    for (int i = 0; i < group.count; ++i) {
      const std::string device =
          fmt::format("{}.{}-{}", name, group.device->spec().kind, node.devices.size());
      node.devices.push_back(host(zone, device, group.availability_of(i)));
      if (!senders.any) continue;
      Wires w;
      if (spec.interconnect.bandwidth > BytesPerSecond(0) &&
          spec.interconnect.shape != LinkShape::full_mesh) {
        w.out = link(zone, device + ".out", spec.interconnect.bandwidth, hop);
        w.in = link(zone, device + ".in", spec.interconnect.bandwidth, hop);
      }
      w.pcie_out = link(zone, device + ".pcie_out", group.device->spec().host_bandwidth, pcie_latency);
      w.pcie_in = link(zone, device + ".pcie_in", group.device->spec().host_bandwidth, pcie_latency);
      wires.push_back(w);
    }
  }
  add_nics(zone, name, network, wires);
  for (std::size_t a = 0; a < wires.size(); ++a) {
    NetPoint *at = node.devices[a]->get_netpoint(), *host_point = node.host->get_netpoint();
    const Wires& w = wires[a];
    zone->add_route(at, host_point, nullptr, nullptr, route({w.pcie_out}), false);
    zone->add_route(host_point, at, nullptr, nullptr, route({w.pcie_in}), false);
    zone->add_route(at, node.gateway, nullptr, nullptr, route({w.pcie_out, w.nic_out}), false);
    zone->add_route(node.gateway, at, nullptr, nullptr, route({w.nic_in, w.pcie_in}), false);
    for (std::size_t b = 0; senders.peers && b < wires.size(); ++b)
      if (a != b)
        zone->add_route(at, node.devices[b]->get_netpoint(), nullptr, nullptr,
                        peer_route(zone, name, spec.interconnect, wires, a, b), false);
  }
  if (spec.host_memory)
    node.memory = host(zone, fmt::format("{}.{}", name, spec.host_memory->spec().kind),
                       &spec.host_availability, static_cast<int>(node.devices.size()));
  // The host reaches the network over a slot like its devices'.
  sg4::Link* nic =
      link(zone, name + ".nic", spec.devices.front().device->spec().host_bandwidth, pcie_latency);
  zone->add_route(node.host->get_netpoint(), node.gateway, nullptr, nullptr, route({nic}), true);
  zone->seal();
  return node;
}

// The smallest regular shape that holds `nodes` leaves; leaves beyond them stay empty.
std::vector<unsigned long> torus_dimensions(unsigned long nodes) {
  const auto side = static_cast<unsigned long>(std::ceil(std::cbrt(static_cast<double>(nodes)) - 1e-9));
  const unsigned long y = std::max(1ul, std::min(side, nodes));
  const unsigned long z = std::max(1ul, (nodes + side * y - 1) / (side * y));
  return {side, y, z};
}

}  // namespace

std::unique_ptr<sg4::Engine> make_engine() {
  // CM02 without cross-traffic: flows share links max-min and nothing else; LV08's TCP corrections make a
  // ring all-reduce of 8 three times as long as it is (measured, docs/decisions.md). TCP-gamma is a window,
  // here without end; 0 would be none, and then flows keep to no rate.
  char name[] = "weir", quiet[] = "--log=root.thresh:warning";
#ifdef __SANITIZE_ADDRESS__
  char contexts[] = "--cfg=contexts/factory:thread";  // AddressSanitizer cannot follow SimGrid's own stacks
  char* argv[] = {name, quiet, contexts, nullptr};
#else
  char* argv[] = {name, quiet, nullptr};
#endif
  int argc = std::ssize(argv) - 1;
  struct sigaction ours;  // SimGrid takes SIGINT for itself
  sigaction(SIGINT, nullptr, &ours);
  auto engine = std::make_unique<sg4::Engine>(&argc, argv);
  sigaction(SIGINT, &ours, nullptr);
  for (const char* setting : {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:1e30",
                              "contexts/guard-size:0", "contexts/stack-size:256"})
    sg4::Engine::set_config(setting);
  return engine;
}

Seconds now() {
  return Seconds(sg4::Engine::get_clock());
}

Cluster::Cluster(const Scenario& scenario) {
  std::vector<const NodeSpec*> specs;
  for (const NodeSpec& spec : scenario.nodes)
    specs.insert(specs.end(), static_cast<std::size_t>(spec.count), &spec);
  const auto count = static_cast<unsigned long>(specs.size());
  const NetworkSpec& network = scenario.network;
  double links = 1;
  for (const NodeSpec* spec : specs) links = std::max(links, network.links_of(device_count(*spec)));
  const BytesPerSecond of_a_node = links * network.link_bandwidth;
  const double bandwidth = of_a_node.value(), latency = network.link_latency.value();
  const std::string& topology = count > 1 ? network.topology : "star";
  const Senders senders = senders_of(scenario);
  nodes_.resize(specs.size());

  const auto add = [&](sg4::NetZone* parent, unsigned long i) {
    const BuiltNode built = build_node(*specs[i], static_cast<int>(i), network, parent, senders);
    nodes_[i] = {built.host, built.memory, built.devices, specs[i]};
    return built;
  };
  if (topology == "star" || topology == "full_mesh") {
    sg4::NetZone* root =
        topology == "star" ? sg4::create_star_zone("network") : sg4::create_full_zone("network");
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
