#pragma once
// Which replica a request goes to. Called by the router actor once a request (and once more when a prefill
// replica hands over to a decode replica). Pure: a function of the snapshot; of equals, the lowest index, or
// whichever the snapshot's die says. What a router remembers, and from whom it hears it, is the router's: a
// policy says what it needs.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "policies/routing/replica_group.h"
#include "sim/core/catalog.h"
#include "sim/core/request.h"

namespace weir {

// The router keeps these for a policy. Whatever nobody needs costs nothing.
struct RoutingNeeds {
  bool sessions = false;  // RoutingView::last_visit
  bool loads = false;     // ReplicaGroup::load() and values()
  bool draws = false;     // RoutingView::die
  // Holders, by what replicas tell of their KV caches: late by so much. And ReplicaGroup::report().
  std::optional<Seconds> reports = {};
  // Holders, by what was sent: of each replica so many tokens of prompts, those not seen for longest
  // forgotten first.
  std::optional<std::int64_t> remembered_tokens = {};
};

struct RoutingView {
  // All that may take the request, at least one. Policies number their replicas in this order.
  std::span<const ReplicaGroup* const> groups;
  std::int64_t routed;  // requests routed to them so far
  struct Visit {
    std::size_t replica;
    Seconds ago;
  };
  std::optional<Visit> last_visit =
      {};  // of the request's session, where it has one and that replica is there
  // The replicas that have a beginning of the request's prompt, as far as the router knows, each once and in
  // no order.
  struct Holder {
    std::size_t replica;
    std::int64_t tokens = 0;         // of the prompt, in the device's memory
    std::int64_t host_tokens = 0;    // behind these in the host's memory,
    std::int64_t disk_tokens = 0;    // and behind these on a disk: none, as tiers do not tell what they keep
    std::int64_t shared_blocks = 0;  // of the prompt that are among ReplicaLoad::blocks there
  };
  std::span<const Holder> holders = {};
  double die = 0;  // in [0, 1), another one each time

  std::size_t size() const {
    std::size_t replicas = 0;
    for (const ReplicaGroup* group : groups) replicas += group->size();
    return replicas;
  }
};

// One thing that a policy looks at: a number of each replica, in the view's order.
struct RoutingScores {
  const char* of;
  std::vector<double> values;
};

class RoutingPolicy {
 public:
  virtual ~RoutingPolicy() = default;
  // The number of a replica, below view.size().
  virtual std::size_t route(const Request& request, const RoutingView& view) const = 0;
  // The numbers that route() goes by, for a trace that is asked why: by default, requests queued or running.
  virtual std::vector<RoutingScores> scores(const Request& request, const RoutingView& view) const;
  virtual RoutingNeeds needs() const { return {}; }
  // A replica's entry in ReplicaGroup::values(), for a policy that needs loads.
  virtual double value(const ReplicaLoad&, std::int64_t /*block_tokens*/) const { return 0; }
};

// The replica with the fewest requests queued or running, the first of equals.
std::size_t with_fewest_requests(const RoutingView& view);
// A number of each replica, by its group and its place there; tokens of the prompt that each holds.
RoutingScores scores_by(const RoutingView& view, const char* of,
                        const std::function<double(const ReplicaGroup& group, std::size_t replica)>& value);
RoutingScores found_tokens(const RoutingView& view);
// The group that a replica is in, and its number there.
struct PlaceInView {
  const ReplicaGroup* group;
  std::size_t replica;
};
PlaceInView place_in(const RoutingView& view, std::size_t replica);

const Catalog<RoutingPolicy>& routing_policies();

}  // namespace weir
