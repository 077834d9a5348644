#include "policies/routing/routing.h"

namespace weir {

// One factory per file; add yours here and in the table, nowhere else in C++.
std::shared_ptr<const RoutingPolicy> make_round_robin_routing(Params& params);
std::shared_ptr<const RoutingPolicy> make_least_outstanding_routing(Params& params);
std::shared_ptr<const RoutingPolicy> make_join_shortest_queue_routing(Params& params);
std::shared_ptr<const RoutingPolicy> make_session_affinity_routing(Params& params);
std::shared_ptr<const RoutingPolicy> make_prefix_affinity_routing(Params& params);
std::shared_ptr<const RoutingPolicy> make_kv_aware_routing(Params& params);
std::shared_ptr<const RoutingPolicy> make_weighted_scores_routing(Params& params);

RoutingScores scores_by(const RoutingView& view, const char* of,
                        const std::function<double(const ReplicaGroup& group, std::size_t replica)>& value) {
  RoutingScores scores{of, {}};
  for (const ReplicaGroup* group : view.groups)
    for (std::size_t i = 0; i < group->size(); ++i) scores.values.push_back(value(*group, i));
  return scores;
}

RoutingScores found_tokens(const RoutingView& view) {
  RoutingScores scores{"found_tokens", std::vector<double>(view.size(), 0)};
  for (const RoutingView::Holder& holder : view.holders)
    scores.values[holder.replica] = static_cast<double>(holder.tokens);
  return scores;
}

std::vector<RoutingScores> RoutingPolicy::scores(const Request&, const RoutingView& view) const {
  return {scores_by(view, "requests", [](const ReplicaGroup& group, std::size_t replica) {
    return static_cast<double>(group.outstanding_requests(replica));
  })};
}

const Catalog<RoutingPolicy>& routing_policies() {
  static const Catalog<RoutingPolicy> table = {
      {"round_robin", "replicas in turn, whatever their load", make_round_robin_routing},
      {"least_outstanding", "the replica with the fewest requests queued or running",
       make_least_outstanding_routing, by_default},
      {"join_shortest_queue", "the replica with the fewest tokens still to compute",
       make_join_shortest_queue_routing},
      {"session_affinity",
       "the replica that served the session's last request, the least outstanding at first",
       make_session_affinity_routing},
      {"prefix_affinity",
       "the replica that was sent the longest beginning of the prompt, while loads are balanced",
       make_prefix_affinity_routing},
      {"kv_aware", "the least cost of prompts to compute and blocks to read, as Dynamo's router has it",
       make_kv_aware_routing},
      {"weighted_scores",
       "the highest sum of scores for hits, free KV cache and short queues, as llm-d's scheduler has it",
       make_weighted_scores_routing},
  };
  return table;
}

}  // namespace weir
