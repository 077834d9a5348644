// Dynamo's KV router (ai-dynamo/dynamo, lib/kv-router/src/scheduling/selector/default.rs, commit 07a6c9ce;
// names and defaults of KvRouterConfig, scheduling/config.rs, commit 0243c51b): the least
//   prefill_load_scale x max(0, prompt blocks - credit) + blocks of running requests
//     + decode_active_request_weight x requests,
// with this request's added to both kinds of blocks; prompt blocks are those to compute of all prompts that
// have no token yet. Its overlap_score_credit_decay and its shared cache, both off by default, are not here.
#include <algorithm>
#include <cmath>
#include <limits>

#include "policies/routing/routing.h"

namespace weir {
namespace {

struct RouterWeights {
  double overlap, host, disk, prefill, request, temperature;
};

class KvAware final : public RoutingPolicy {
 public:
  KvAware(const RouterWeights& weights, Seconds delay) : weights_(weights), delay_(delay) {}

  RoutingNeeds needs() const override { return {.loads = true, .draws = true, .reports = delay_}; }
  // The cost of a request of no tokens.
  double value(const ReplicaLoad& load, std::int64_t block_tokens) const override {
    return cost(load, block_tokens, 0, {});
  }
  std::size_t route(const Request& request, const RoutingView& view) const override {
    return weights_.temperature > 0 ? draw(request, view) : least(request, view);
  }
  std::vector<RoutingScores> scores(const Request& request, const RoutingView& view) const override {
    return {{"cost", costs(request, view)},
            scores_by(view, "prompt_tokens",
                      [](const ReplicaGroup& group, std::size_t replica) {
                        return static_cast<double>(group.load(replica).prompt_tokens);
                      }),
            scores_by(view, "blocks",
                      [](const ReplicaGroup& group, std::size_t replica) {
                        return static_cast<double>(group.load(replica).blocks);
                      }),
            found_tokens(view)};
  }

 private:
  double cost(const ReplicaLoad& load, std::int64_t block_tokens, std::int64_t input_tokens,
              const RoutingView::Holder& holder) const {
    const auto blocks = [&](std::int64_t tokens) {
      return static_cast<double>(tokens) / static_cast<double>(block_tokens);
    };
    const double credit = weights_.overlap * blocks(holder.tokens) +
                          weights_.host * blocks(holder.host_tokens) +
                          weights_.disk * blocks(holder.disk_tokens);
    const double prefill = std::max(0., blocks(load.prompt_tokens + input_tokens) - credit);
    const auto running =
        static_cast<double>(load.blocks + input_tokens / block_tokens - holder.shared_blocks);
    return weights_.prefill * prefill + running + weights_.request * static_cast<double>(load.requests);
  }
  double cost_at(const RoutingView& view, const Request& request, const RoutingView::Holder& holder) const {
    const PlaceInView at = place_in(view, holder.replica);
    return cost(at.group->load(at.replica), at.group->block_tokens(), request.input_tokens, holder);
  }

  // A replica that holds nothing costs what its load does and the same on top: the trees know the least of
  // these. A holder costs no more than it would without.
  std::size_t least(const Request& request, const RoutingView& view) const {
    double best = std::numeric_limits<double>::infinity();
    thread_local std::vector<const ReplicaGroup*> lowest;  // groups
    lowest.clear();
    for (const ReplicaGroup* group : view.groups) {
      const double least =
          cost(group->load(group->values().tie(0)), group->block_tokens(), request.input_tokens, {});
      if (least > best) continue;
      if (least < best) lowest.clear();
      best = least;
      lowest.push_back(group);
    }
    thread_local std::vector<std::size_t> others;  // holders as low, that are not among these
    others.clear();
    for (const RoutingView::Holder& holder : view.holders) {
      const double least = cost_at(view, request, holder);
      if (least > best) continue;
      if (least < best) {
        lowest.clear();
        others.clear();
      }
      best = least;
      const PlaceInView at = place_in(view, holder.replica);
      const LeastLoads& values = at.group->values();
      const bool counted = std::ranges::count(lowest, at.group) > 0 && values[at.replica] == values.least();
      if (!counted) others.push_back(holder.replica);
    }
    std::size_t ties = others.size();
    for (const ReplicaGroup* group : lowest) ties += group->values().ties();
    auto chosen = static_cast<std::size_t>(view.die * static_cast<double>(ties));
    std::size_t first = 0;
    for (const ReplicaGroup* group : view.groups) {
      if (std::ranges::count(lowest, group) > 0) {
        if (chosen < group->values().ties()) return first + group->values().tie(chosen);
        chosen -= group->values().ties();
      }
      first += group->size();
    }
    return others[chosen];
  }

  std::vector<double> costs(const Request& request, const RoutingView& view) const {
    std::vector<double> costs;
    for (const ReplicaGroup* group : view.groups)
      for (std::size_t i = 0; i < group->size(); ++i)
        costs.push_back(cost(group->load(i), group->block_tokens(), request.input_tokens, {}));
    for (const RoutingView::Holder& holder : view.holders)
      costs[holder.replica] = cost_at(view, request, holder);
    return costs;
  }

  // By chance, the likelier the less it costs: softmax of costs over their range, which is a walk over all.
  std::size_t draw(const Request& request, const RoutingView& view) const {
    std::vector<double> costs = this->costs(request, view);
    const auto [least, most] = std::ranges::minmax(costs);
    double sum = 0;
    for (double& cost : costs) {
      cost = most > least ? std::exp(-(cost - least) / ((most - least) * weights_.temperature)) : 1;
      sum += cost;
    }
    double left = view.die * sum;
    for (std::size_t i = 0; i < costs.size(); ++i)
      if ((left -= costs[i]) < 0) return i;
    return costs.size() - 1;
  }

  RouterWeights weights_;
  Seconds delay_;
};

}  // namespace

std::shared_ptr<const RoutingPolicy> make_kv_aware_routing(Params& params) {
  RouterWeights weights{};
  weights.overlap = params.number({"overlap_score_credit",
                                   "Blocks that a block found in a device's memory saves; 0: hits count "
                                   "nothing."},
                                  {0, 1}, 1);
  weights.host =
      params.number({"host_cache_hit_weight",
                     "The same of a host's memory; of tiers (kv_cache.tiers) routers are not told yet."},
                    {0, 1}, 0.75);
  weights.disk = params.number({"disk_cache_hit_weight", "The same of a disk; likewise."}, {0, 1}, 0.25);
  weights.prefill = params.number(
      {"prefill_load_scale", "What a block to compute costs beside one that a running request has."},
      not_negative, 1);
  weights.request = params.number(
      {"decode_active_request_weight", "What each request of a replica costs, in blocks."}, not_negative, 0);
  weights.temperature = params.number(
      {"router_temperature",
       "0: the least cost, at random among equals; above: by chance, the flatter the higher it is."},
      not_negative, 0);
  const auto delay = params.quantity<Seconds>(
      {"view_delay_ms", "How late the router hears what KV caches hold."}, not_negative, 50);
  return std::make_shared<KvAware>(weights, delay);
}

}  // namespace weir
