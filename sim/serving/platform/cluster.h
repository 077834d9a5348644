#pragma once
// The scenario's hardware as a SimGrid platform: a zone a node with a host for its CPU and one a device,
// NVLink (or its like) between devices, PCIe to the host and to the network, and the network's topology
// between nodes. Built once, before the engine runs; gives out hosts, and the flows between them.
#include <simgrid/forward.h>

#include <vector>

#include "sim/plan/plan.h"

namespace weir {

class Cluster {
 public:
  // After make_engine(). `shared`: others than its replicas send over links, and draw from hosts' memories.
  explicit Cluster(const Scenario& scenario, bool shared = false);
  simgrid::s4u::Host* device(DevicePlace place) const;
  simgrid::s4u::Host* node(int node) const;         // its CPU and memory
  simgrid::s4u::Host* host_memory(int node) const;  // that computes, if the node has some
  // Null: it is always there, at its own speed.
  const Availability* availability(DevicePlace place) const;
  const Availability* memory_availability(int node) const;
  bool has_links() const { return has_links_; }  // only where flows may cross them

 private:
  struct Node {
    simgrid::s4u::Host *host = nullptr, *memory = nullptr;
    std::vector<simgrid::s4u::Host*> devices;
    const NodeSpec* spec = nullptr;
  };
  std::vector<Node> nodes_;
  bool has_links_;
};

struct LinkFlow {
  simgrid::s4u::Host* from;
  simgrid::s4u::Host* to;
  Bytes bytes;
  Seconds at_least{0};  // alone it takes so long, as a step's operators send it; 0: as the links allow
};

}  // namespace weir
