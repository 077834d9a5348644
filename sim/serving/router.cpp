#include "sim/serving/router.h"

#include <algorithm>

namespace weir {

void Router::add(Server& server) {
  (server.replica().plan().spec.role == Role::decode ? back_ : front_).servers.push_back(&server);
}

Server* Router::choose(const Request& request, Group& group, Seconds now) {
  loads_.clear();
  able_.clear();
  for (Server* server : group.servers) {
    if (!server->replica().fits(request)) continue;
    able_.push_back(server);
    loads_.push_back({server->replica().outstanding_requests(),
                      policy_.reads_tokens() ? server->outstanding_tokens(now) : 0});
  }
  if (able_.empty()) return nullptr;
  return able_[policy_.route(request, {.replicas = loads_, .routed = group.routed++})];
}

Server* Router::for_prompt(const Request& request, Seconds now) {
  const bool can_end = back_.servers.empty() || request.output_tokens == 1 ||
                       std::any_of(back_.servers.begin(), back_.servers.end(),
                                   [&](Server* server) { return server->replica().fits(request); });
  return can_end ? choose(request, front_, now) : nullptr;
}

Server& Router::for_handover(const Request& request, Seconds now) {
  return *choose(request, back_, now);  // for_prompt() saw that there is one
}

}  // namespace weir
