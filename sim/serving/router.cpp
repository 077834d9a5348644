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

void Router::Group::know(std::size_t server, const RouterKnowledge& knowledge, const RoutingPolicy& policy) {
  const std::int32_t number = servers_[server]->replica().index();
  ReplicaLoad load = knowledge.load(number);
  load.requests = outstanding_requests(server);
  set_load(server, load, policy.value(load, block_tokens()));
  if (policy.needs().reports) set_report(server, knowledge.report(number));
}

bool Router::Group::serves(const Request& request) const {
  return can_serve(plan_, request);
}

std::int64_t Router::Group::outstanding_tokens(std::size_t server) const {
  return servers_[server]->outstanding_tokens(now());
}

Router::Router(const RoutingPolicy& policy, const Workload& workload, std::uint64_t seed)
    : policy_(policy),
      needs_(policy.needs()),
      workload_(workload),
      die_(random_stream(seed, "routing")),
      front_{.knowledge = {needs_, workload.contents, workload.requests.size(), true}},
      back_{.knowledge = {needs_, workload.contents, workload.requests.size(), false}} {}

ReplicaListener* Router::listener(const Replica& replica) {
  return side_of(replica.plan()).knowledge.listener(replica.index(), replica.cache().total());
}

void Router::add(Server& server) {
  const ReplicaPlan& plan = server.replica().plan();
  Side& side = side_of(plan);
  if (groups_.empty() || !groups_.back().is_of(plan)) {
    groups_.emplace_back(plan);
    side.groups.push_back(&groups_.back());
  }
  places_.push_back({&groups_.back(), groups_.back().size(), &side});
  groups_.back().add(server);
  side.knowledge.add_replica(server.replica().index(), plan.spec.kv_cache.block_tokens);
}

void Router::changed(int replica) {
  const auto& [group, server, side] = place(replica);
  group->changed(server);
}

void Router::ended(std::int32_t name, int replica) {
  changed(replica);
  if (!needs_.loads) return;
  const std::int64_t tokens = workload_.requests[static_cast<std::size_t>(name)].input_tokens;
  place(replica).side->knowledge.ended(name, tokens);
}

// The router collects what it knows when the request comes, as far as the policy needs it.
void Router::look(std::int32_t name, const Request& request, Side& side) {
  holders_.clear();
  for (const std::int32_t replica : side.knowledge.changed(now()))
    place(replica).group->know(place(replica).server, side.knowledge, policy_);
  for (const auto& [replica, tokens, shared] : side.knowledge.holders(name, request.input_tokens)) {
    const auto& [group, server, of] = place(replica);
    if (group->first < 0) continue;
    holders_.push_back({.replica = static_cast<std::size_t>(group->first) + server,
                        .tokens = tokens,
                        .shared_blocks = shared});
  }
}

std::int64_t Router::found(std::size_t replica) const {
  const auto holder = std::ranges::find(holders_, replica, &RoutingView::Holder::replica);
  return holder == holders_.end() ? 0 : holder->tokens;
}

Server* Router::choose(std::int32_t name, const Request& request, Side& side) {
  able_.clear();
  std::ptrdiff_t first = 0;
  for (Group* group : side.groups) {
    group->first = group->serves(request) ? first : -1;
    if (group->first < 0) continue;
    able_.push_back(group);
    first += static_cast<std::ptrdiff_t>(group->size());
  }
  if (able_.empty()) return nullptr;
  RoutingView view{.groups = able_, .routed = side.routed++};
  Visit* last = nullptr;
  if (needs_.sessions && workload_.sessions) {
    side.last.resize(static_cast<std::size_t>(workload_.sessions->count()));
    last = &side.last[static_cast<std::size_t>(workload_.sessions->of(name))];
    if (last->group && last->group->first >= 0)
      view.last_visit = {static_cast<std::size_t>(last->group->first) + last->server, now() - last->at};
  }
  look(name, request, side);
  view.holders = holders_;
  if (needs_.draws) view.die = static_cast<double>(die_() >> 11) * 0x1p-53;
  const std::size_t chosen = policy_.route(request, view);
  if (listener_ && listener_->hears(name)) tell_choice(name, request, side, view, chosen);
  for (const ReplicaGroup* able : able_) {
    const auto& group = *static_cast<const Group*>(able);
    const std::size_t server = chosen - static_cast<std::size_t>(group.first);
    if (server >= group.size()) continue;
    if (last) *last = {&group, server, now()};
    side.knowledge.sent(name, request.input_tokens, group[server].replica().index(), found(chosen));
    return &group[server];
  }
  throw std::logic_error("a routing policy chose a replica that is not there");
}

void Router::tell_choice(std::int32_t name, const Request& request, const Side& side, const RoutingView& view,
                         std::size_t chosen) const {
  RoutingChoice choice{name, now(), &side == &back_, {}, chosen, policy_.scores(request, view)};
  for (const ReplicaGroup* able : able_)
    for (std::size_t i = 0; i < able->size(); ++i)
      choice.replicas.push_back((*static_cast<const Group*>(able))[i].replica().index());
  listener_->chose(choice);
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
