#include "sim/serving/router.h"

#include <algorithm>

#include "devices/actor/clock.h"
#include "sim/plan/servable.h"

namespace weir {

void Router::Group::add(Server& server) {
  servers_.push_back(&server);
  add_replica();
}

void Router::Group::changed(std::size_t server) {
  set_outstanding_requests(server, servers_[server]->replica().outstanding_requests());
}

bool Router::Group::serves(const Request& request) const {
  return can_serve(plan_, request);
}

std::int64_t Router::Group::outstanding_tokens(std::size_t server) const {
  return servers_[server]->outstanding_tokens(now());
}

void Router::add(Server& server) {
  const ReplicaPlan& plan = server.replica().plan();
  if (groups_.empty() || !groups_.back().is_of(plan)) {
    groups_.emplace_back(plan);
    (plan.spec.role == Role::decode ? back_ : front_).groups.push_back(&groups_.back());
  }
  place_of_.emplace_back(&groups_.back(), groups_.back().size());
  groups_.back().add(server);
}

void Router::changed(int replica) {
  const auto [group, server] = place_of_[static_cast<std::size_t>(replica)];
  group->changed(server);
}

std::optional<RoutingView::Visit> Router::among_able(const Visit& visit) const {
  std::size_t first = 0;
  for (const ReplicaGroup* group : able_) {
    if (group == visit.group) return RoutingView::Visit{first + visit.server, now() - visit.at};
    first += group->size();
  }
  return {};
}

Server* Router::choose(std::int32_t name, const Request& request, Side& side) {
  able_.clear();
  for (const Group* group : side.groups)
    if (group->serves(request)) able_.push_back(group);
  if (able_.empty()) return nullptr;
  if (sessions_ && side.last.empty()) side.last.resize(static_cast<std::size_t>(sessions_->count()));
  Visit* last = sessions_ ? &side.last[static_cast<std::size_t>(sessions_->of(name))] : nullptr;
  RoutingView view{.groups = able_, .routed = side.routed++};
  if (last) view.last_visit = among_able(*last);
  std::size_t chosen = policy_.route(request, view);
  for (const ReplicaGroup* able : able_) {
    const auto& group = *static_cast<const Group*>(able);
    if (chosen >= group.size()) {
      chosen -= group.size();
      continue;
    }
    if (last) *last = {&group, chosen, now()};
    return &group[chosen];
  }
  throw std::logic_error("a routing policy chose a replica that is not there");
}

Server* Router::for_prompt(std::int32_t name, const Request& request) {
  const bool can_end =
      back_.groups.empty() || request.output_tokens == 1 ||
      std::ranges::any_of(back_.groups, [&](Group* group) { return group->serves(request); });
  return can_end ? choose(name, request, front_) : nullptr;
}

Server& Router::for_handover(std::int32_t name, const Request& request) {
  return *choose(name, request, back_);  // for_prompt() saw that there is one
}

}  // namespace weir
