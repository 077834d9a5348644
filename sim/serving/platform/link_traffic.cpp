#include "sim/serving/platform/link_traffic.h"

#include <simgrid/s4u/Link.hpp>

namespace weir {
namespace sg4 = simgrid::s4u;

void LinkTraffic::carried(const std::vector<LinkFlow>& flows, Seconds from, Seconds to) {
  for (const LinkFlow& flow : flows) {
    if (flow.bytes <= Bytes(0) || flow.from == flow.to) continue;
    for (const std::size_t link : route(flow.from, flow.to)) recorder_.carried(link, from, to, flow.bytes);
  }
}

const std::vector<std::size_t>& LinkTraffic::route(sg4::Host* from, sg4::Host* to) {
  const auto [known, first] = routes_.try_emplace({from, to});
  if (!first) return known->second;
  std::vector<sg4::Link*> links;
  double latency = 0;
  from->route_to(to, links, &latency);
  for (const sg4::Link* link : links) {
    const auto [number, added] = links_.try_emplace(link->get_name(), 0);
    if (added)
      number->second = recorder_.add_link({link->get_name(), BytesPerSecond(link->get_bandwidth()), {}});
    known->second.push_back(number->second);
  }
  return known->second;
}

}  // namespace weir
