#pragma once
// A node of the cluster as a zone of SimGrid: a host for its processor, one a device and one for memory that
// computes, the interconnect between its devices, PCIe, and its links to the network. For cluster.cpp.
#include <simgrid/forward.h>

#include <initializer_list>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/s4u/Link.hpp>
#include <string>
#include <vector>

#include "sim/plan/plan.h"

namespace weir {

// Devices that send over links: collectives in closed form do not, and links and n x n routes cost more than
// many a run.
struct Senders {
  bool peers;  // devices, to others of their node
  bool any;    // devices, to their host or beyond
};

struct BuiltNode {
  simgrid::s4u::NetZone* zone;
  simgrid::kernel::routing::NetPoint* gateway;
  simgrid::s4u::Host *host, *memory;
  std::vector<simgrid::s4u::Host*> devices;
};

struct Wires {                                                 // of one device
  simgrid::s4u::Link *out = nullptr, *in = nullptr;            // to and from its peers
  simgrid::s4u::Link *pcie_out = nullptr, *pcie_in = nullptr;  // to and from host and network
  simgrid::s4u::Link *nic_out = nullptr, *nic_in = nullptr;    // to and from the network
};
struct NodeWires {
  std::vector<Wires> devices;
  simgrid::s4u::Link* nic;     // of the host
  simgrid::s4u::Link* memory;  // of the host, to the one that computes; null: there is none
};

// Links are made in the root zone, and before it has children: SimGrid 3.32 looks for each new name in every
// zone that there is.
NodeWires wire_node(const NodeSpec& spec, int index, const NetworkSpec& network, simgrid::s4u::NetZone* root);
BuiltNode build_node(const NodeSpec& spec, int index, const NodeWires& wires, simgrid::s4u::NetZone* parent,
                     bool peers);
// Only the hosts, in a zone of others', where nothing is ever sent.
BuiltNode build_hosts(const NodeSpec& spec, int index, simgrid::s4u::NetZone* zone);

using Route = std::vector<simgrid::s4u::LinkInRoute>;
Route route(std::initializer_list<simgrid::s4u::Link*> links);  // without those that are null
simgrid::s4u::Link* link(simgrid::s4u::NetZone* zone, const std::string& name, BytesPerSecond bandwidth,
                         Seconds latency);

}  // namespace weir
