#include "sim/serving/platform/link_traffic.h"

#include <algorithm>
#include <simgrid/s4u/Link.hpp>

namespace weir {
namespace sg4 = simgrid::s4u;

template <class Do>
void LinkTraffic::for_each_link(const std::vector<LinkFlow>& flows, const Do& what) {
  for (const LinkFlow& flow : flows) {
    if (flow.bytes <= Bytes(0) || flow.from == flow.to) continue;
    for (const std::size_t link : way(flow).links) what(link, flow.bytes);
  }
}

void LinkTraffic::carried(const std::vector<LinkFlow>& flows, Seconds from, Seconds to) {
  if (!recording_) return;
  for_each_link(flows, [&](std::size_t link, Bytes bytes) { recorder_.carried(link, from, to, bytes); });
}

Seconds LinkTraffic::alone(const std::vector<LinkFlow>& flows) {
  std::map<std::size_t, Bytes> load;
  for_each_link(flows, [&](std::size_t link, Bytes bytes) { load[link] += bytes; });
  Seconds longest(0);
  for (const LinkFlow& flow : flows) {
    if (flow.bytes <= Bytes(0) || flow.from == flow.to) continue;
    for (const std::size_t link : way(flow).links)
      longest = std::max(longest, way(flow).latency + load[link] / recorder_.result().links[link].bandwidth);
  }
  return longest;
}

LinkTraffic::Group LinkTraffic::add_group(const std::vector<LinkFlow>& flows, std::function<void()> joined,
                                          Of of) {
  const Group group = groups_.size();
  groups_.push_back({std::move(joined), of, 0, 0, {}});
  for_each_link(flows, [&](std::size_t link, Bytes) {
    std::vector<Group>& on = groups_on_[link];
    if (std::ranges::find(on, group) == on.end()) on.push_back(group);
  });
  return group;
}

void LinkTraffic::transfer_begins(const std::vector<LinkFlow>& flows, Seconds now, By by) {
  std::vector<Group> joined;
  for_each_link(flows, [&](std::size_t link, Bytes) {
    for (const Group group : groups_on_[link]) {
      if (!heard(group, by)) continue;
      groups_[group].by_others += by == By::others;
      if (groups_[group].transfers++ == 0) joined.push_back(group);
    }
  });
  for (const Group group : joined) {
    groups_[group].shared_since = now;
    groups_[group].joined();
  }
}

void LinkTraffic::transfer_ends(const std::vector<LinkFlow>& flows, By by) {
  for_each_link(flows, [&](std::size_t link, Bytes) {
    for (const Group group : groups_on_[link]) {
      if (!heard(group, by)) continue;
      groups_[group].by_others -= by == By::others;
      if (--groups_[group].transfers == 0) groups_[group].shared_since.reset();
    }
  });
}

const LinkTraffic::Way& LinkTraffic::way(const LinkFlow& flow) {
  const auto [known, first] = ways_.try_emplace({flow.from, flow.to});
  Way& made = known->second;
  if (!first) return made;
  std::vector<sg4::Link*> links;
  double latency = 0;
  flow.from->route_to(flow.to, links, &latency);
  made.latency = Seconds(latency);
  for (const sg4::Link* link : links) {
    const auto [number, added] = links_.try_emplace(link->get_name(), 0);
    if (added) {
      number->second = recorder_.add_link({link->get_name(), BytesPerSecond(link->get_bandwidth()), {}});
      groups_on_.resize(number->second + 1);
    }
    made.links.push_back(number->second);
  }
  return made;
}

}  // namespace weir
