// llm-d's scheduler: the highest sum of weights times scores between 0 and 1. Weights are those of its
// precise prefix caching (llm-d/llm-d-inference-scheduler,
// deploy/config/epp-precise-prefix-cache-config.yaml, commit 17d999e0); scores are the plugins' of
// kubernetes-sigs/gateway-api-inference-extension (pkg/epp/scheduling/framework/plugins:
// multi/prefix/plugin.go, commit 00913f92; scorer/queue.go and scorer/kvcache_utilization.go, commit
// 02308be3). Equals at random, as its picker shuffles them.
#include <algorithm>
#include <limits>

#include "policies/routing/routing.h"

namespace weir {
namespace {

struct ScoreWeights {
  double prefix, kv_cache, queue;
};

class WeightedScores final : public RoutingPolicy {
 public:
  WeightedScores(const ScoreWeights& weights, Seconds delay) : weights_(weights), delay_(delay) {}

  RoutingNeeds needs() const override { return {.draws = true, .reports = delay_}; }
  // The queues' scores are between the shortest and the longest, so that no order of replicas outlives a
  // change of these: a walk over all.
  std::size_t route(const Request& request, const RoutingView& view) const override {
    thread_local std::vector<double> sums;
    sum(request, view, sums);
    return highest(sums, view.die);
  }
  std::vector<RoutingScores> scores(const Request& request, const RoutingView& view) const override {
    std::vector<RoutingScores> all = {{"score", {}},
                                      scores_by(view, "waiting",
                                                [](const ReplicaGroup& group, std::size_t replica) {
                                                  return static_cast<double>(group.report(replica).waiting);
                                                }),
                                      scores_by(view, "kv_used",
                                                [](const ReplicaGroup& group, std::size_t replica) {
                                                  return group.report(replica).kv_used;
                                                }),
                                      found_tokens(view)};
    sum(request, view, all[0].values);
    return all;
  }

 private:
  void sum(const Request& request, const RoutingView& view, std::vector<double>& scores) const {
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max(), longest = 0;
    for (const ReplicaGroup* group : view.groups)
      for (std::size_t i = 0; i < group->size(); ++i) {
        shortest = std::min(shortest, group->report(i).waiting);
        longest = std::max(longest, group->report(i).waiting);
      }
    scores.clear();
    for (const ReplicaGroup* group : view.groups)
      for (std::size_t i = 0; i < group->size(); ++i) {
        const ReplicaReport& report = group->report(i);
        const double queue = longest == shortest ? 1
                                                 : static_cast<double>(longest - report.waiting) /
                                                       static_cast<double>(longest - shortest);
        scores.push_back(weights_.queue * queue + weights_.kv_cache * (1 - report.kv_used));
      }
    for (const RoutingView::Holder& holder : view.holders)
      scores[holder.replica] += weights_.prefix * share(request, view, holder);
  }
  // The share of the prompt's full blocks that the holder has.
  static double share(const Request& request, const RoutingView& view, const RoutingView::Holder& holder) {
    const std::int64_t block = place_in(view, holder.replica).group->block_tokens();
    const std::int64_t whole = request.input_tokens / block * block;
    return whole == 0 ? 0 : static_cast<double>(holder.tokens) / static_cast<double>(whole);
  }
  static std::size_t highest(const std::vector<double>& scores, double die) {
    const double best = std::ranges::max(scores);
    const auto ties = static_cast<double>(std::ranges::count(scores, best));
    auto chosen = static_cast<std::size_t>(die * ties);
    for (std::size_t i = 0;; ++i)
      if (scores[i] == best && chosen-- == 0) return i;
  }

  ScoreWeights weights_;
  Seconds delay_;
};

}  // namespace

std::shared_ptr<const RoutingPolicy> make_weighted_scores_routing(Params& params) {
  ScoreWeights weights{};
  weights.prefix = params.number(
      {"prefix_weight", "Of the share of the prompt that a replica's KV cache holds."}, not_negative, 2);
  weights.kv_cache = params.number(
      {"kv_cache_weight", "Of the share of a replica's KV blocks that no request holds."}, not_negative, 1);
  weights.queue = params.number(
      {"queue_weight", "Of its queue: 1 for the shortest of all, 0 for the longest."}, not_negative, 1);
  const auto delay =
      params.quantity<Seconds>({"view_delay_ms", "How late the router hears all three."}, not_negative, 50);
  return std::make_shared<WeightedScores>(weights, delay);
}

}  // namespace weir
