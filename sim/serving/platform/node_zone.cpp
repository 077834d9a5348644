#include "sim/serving/platform/node_zone.h"

#include <fmt/format.h>

#include <algorithm>
#include <simgrid/kernel/ProfileBuilder.hpp>
#include <simgrid/s4u.hpp>

namespace weir {
namespace sg4 = simgrid::s4u;
namespace {

using NetPoint = simgrid::kernel::routing::NetPoint;

constexpr double second_a_second = 1;  // hosts execute times, which come from the latency models

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

std::string node_name(int index) {
  return fmt::format("node{}", index);
}

std::string device_name(const std::string& node, const DeviceSpec& kind, std::size_t number) {
  return fmt::format("{}.{}-{}", node, kind.kind, number);
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

Wires wires_of(sg4::NetZone* zone, const std::string& device, const LinkSpec& peers, BytesPerSecond pcie) {
  Wires w;
  if (peers.bandwidth > BytesPerSecond(0) && peers.shape != LinkShape::full_mesh) {
    const Seconds hop = peers.shape == LinkShape::switched ? peers.latency / 2 : peers.latency;
    w.out = link(zone, device + ".out", peers.bandwidth, hop);
    w.in = link(zone, device + ".in", peers.bandwidth, hop);
  }
  w.pcie_out = link(zone, device + ".pcie_out", pcie, pcie_latency);
  w.pcie_in = link(zone, device + ".pcie_in", pcie, pcie_latency);
  return w;
}

// The links of a node to the network, dealt out in order to its devices that run models, or to all where none
// does; several of one device are one link. Who runs none shares the first.
void add_nics(sg4::NetZone* zone, const std::string& node, const NetworkSpec& network,
              const std::vector<Wires*>& wires, const std::vector<Wires*>& others) {
  const int devices = static_cast<int>(wires.size());
  const int links = static_cast<int>(network.links_of(devices)), nics = std::min(links, devices);
  const BytesPerSecond bandwidth = static_cast<double>(links) / nics * network.link_bandwidth;
  int made = -1;
  for (int device = 0; device < devices; ++device) {
    Wires& w = *wires[static_cast<std::size_t>(device)];
    const int nic = device * nics / devices;
    if (nic == made) {
      w.nic_out = wires[static_cast<std::size_t>(device - 1)]->nic_out;
      w.nic_in = wires[static_cast<std::size_t>(device - 1)]->nic_in;
      continue;
    }
    made = nic;
    w.nic_out = link(zone, fmt::format("{}.nic{}_out", node, nic), bandwidth, Seconds(0));
    w.nic_in = link(zone, fmt::format("{}.nic{}_in", node, nic), bandwidth, Seconds(0));
  }
  for (Wires* other : others) {
    other->nic_out = wires[0]->nic_out;
    other->nic_in = wires[0]->nic_in;
  }
}

// From each device to its host, to the network, and to its peers.
void add_routes(const BuiltNode& node, const std::string& name, const LinkSpec& peers,
                const std::vector<Wires>& wires, bool to_peers) {
  sg4::NetZone* zone = node.zone;
  NetPoint* host = node.host->get_netpoint();
  for (std::size_t a = 0; a < wires.size(); ++a) {
    NetPoint* at = node.devices[a]->get_netpoint();
    const Wires& w = wires[a];
    zone->add_route(at, host, nullptr, nullptr, route({w.pcie_out}), false);
    zone->add_route(host, at, nullptr, nullptr, route({w.pcie_in}), false);
    zone->add_route(at, node.gateway, nullptr, nullptr, route({w.pcie_out, w.nic_out}), false);
    zone->add_route(node.gateway, at, nullptr, nullptr, route({w.nic_in, w.pcie_in}), false);
    for (std::size_t b = 0; to_peers && b < wires.size(); ++b)
      if (a != b)
        zone->add_route(at, node.devices[b]->get_netpoint(), nullptr, nullptr,
                        peer_route(zone, name, peers, wires, a, b), false);
  }
}

}  // namespace

sg4::Link* link(sg4::NetZone* zone, const std::string& name, BytesPerSecond bandwidth, Seconds latency) {
  return zone->create_link(name, bandwidth.value())->set_latency(latency.value())->seal();
}

Route route(std::initializer_list<sg4::Link*> links) {
  Route made;
  for (sg4::Link* l : links)
    if (l) made.emplace_back(l);
  return made;
}

NodeWires wire_node(const NodeSpec& spec, int index, const NetworkSpec& network, sg4::NetZone* root) {
  const std::string name = node_name(index);
  NodeWires wires{};
  for (const DeviceGroup& group : spec.devices)
    for (int i = 0; i < group.count; ++i) {
      const DeviceSpec& kind = group.device->spec();
      wires.devices.push_back(wires_of(root, device_name(name, kind, wires.devices.size()), spec.interconnect,
                                       kind.host_bandwidth));
    }
  std::vector<Wires*> of_models, others;
  std::size_t device = 0;
  for (const DeviceGroup& group : spec.devices)
    for (int i = 0; i < group.count; ++i)
      (group.device->spec().runs_models() ? of_models : others).push_back(&wires.devices[device++]);
  if (of_models.empty()) std::swap(of_models, others);
  add_nics(root, name, network, of_models, others);
  // The host reaches the network over a slot like its devices'.
  wires.nic = link(root, name + ".nic", spec.devices.front().device->spec().host_bandwidth, pcie_latency);
  if (spec.host_memory)
    wires.memory = link(root, name + ".memory", spec.host_memory->spec().own().reached(), Seconds(0));
  return wires;
}

BuiltNode build_hosts(const NodeSpec& spec, int index, sg4::NetZone* zone) {
  const std::string name = node_name(index);
  BuiltNode node{zone, nullptr, host(zone, name, nullptr), nullptr, {}};
  for (const DeviceGroup& group : spec.devices)
    for (int i = 0; i < group.count; ++i)
      node.devices.push_back(
          host(zone, device_name(name, group.device->spec(), node.devices.size()), group.availability_of(i)));
  if (spec.host_memory)
    node.memory = host(zone, fmt::format("{}.{}", name, spec.host_memory->spec().kind),
                       &spec.host_availability, static_cast<int>(node.devices.size()));
  return node;
}

BuiltNode build_node(const NodeSpec& spec, int index, const NodeWires& wires, sg4::NetZone* parent,
                     bool peers) {
  const std::string name = node_name(index);
  sg4::NetZone* zone = sg4::create_full_zone(name)->set_parent(parent);
  NetPoint* gateway = zone->create_router(name + ".switch");
  BuiltNode node = build_hosts(spec, index, zone);
  node.gateway = gateway;
  add_routes(node, name, spec.interconnect, wires.devices, peers);
  zone->add_route(node.host->get_netpoint(), gateway, nullptr, nullptr, route({wires.nic}), true);
  if (node.memory)
    zone->add_route(node.host->get_netpoint(), node.memory->get_netpoint(), nullptr, nullptr,
                    route({wires.memory}), true);
  zone->seal();
  return node;
}

}  // namespace weir
