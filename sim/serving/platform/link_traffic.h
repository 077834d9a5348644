#pragma once
// Traffic of the cluster's links: every flow's bytes are laid on each link of its route, evenly over the
// time that the flow took. Collectives in closed form are not flows: a device's own "link" unit has those.
#include <map>
#include <simgrid/s4u/Host.hpp>
#include <utility>
#include <vector>

#include "sim/serving/platform/cluster.h"
#include "sim/serving/record/recorder.h"

namespace weir {

class LinkTraffic {
 public:
  explicit LinkTraffic(Recorder& recorder) : recorder_(recorder) {}
  void carried(const std::vector<LinkFlow>& flows, Seconds from, Seconds to);

 private:
  const std::vector<std::size_t>& route(simgrid::s4u::Host* from, simgrid::s4u::Host* to);

  Recorder& recorder_;
  std::map<std::pair<simgrid::s4u::Host*, simgrid::s4u::Host*>, std::vector<std::size_t>> routes_;
  std::map<std::string, std::size_t> links_;  // by name: the recorder's number
};

}  // namespace weir
