// SGLang's cache_aware policy (sgl-project/sglang, sgl-router/src/policies/cache_aware.rs, commit 026f853b):
// the replica that was sent the longest beginning of the prompt, if that is more than a share of it; the one
// with the fewest requests if not, or where loads are out of balance. Defaults are its CacheAwareConfig's
// (policies/mod.rs, commit 08fc5742). There a share that is too small goes to the smallest tree, which fills
// up with what was sent and not with what runs; here to the least loaded, as where loads are unbalanced.
#include <algorithm>
#include <limits>
#include <utility>

#include "policies/routing/routing.h"

namespace weir {
namespace {

class PrefixAffinity final : public RoutingPolicy {
 public:
  PrefixAffinity(double share, std::int64_t most_ahead, double most_times, std::int64_t remembered)
      : share_(share), most_ahead_(most_ahead), most_times_(most_times), remembered_(remembered) {}

  RoutingNeeds needs() const override { return {.remembered_tokens = remembered_}; }
  std::size_t route(const Request& request, const RoutingView& view) const override {
    const std::size_t least = with_fewest_requests(view);
    if (unbalanced(view, least)) return least;
    const RoutingView::Holder* longest = nullptr;
    for (const RoutingView::Holder& holder : view.holders)
      if (!longest || holder.tokens > longest->tokens ||
          (holder.tokens == longest->tokens && before(view, holder.replica, longest->replica)))
        longest = &holder;
    const auto whole = static_cast<double>(request.input_tokens);
    return longest && static_cast<double>(longest->tokens) > share_ * whole ? longest->replica : least;
  }
  std::vector<RoutingScores> scores(const Request& request, const RoutingView& view) const override {
    std::vector<RoutingScores> all = RoutingPolicy::scores(request, view);
    all.push_back(found_tokens(view));
    return all;
  }

 private:
  bool unbalanced(const RoutingView& view, std::size_t least) const {
    std::int64_t most = 0;
    for (const ReplicaGroup* group : view.groups) most = std::max(most, group->most_requests());
    const std::int64_t fewest = requests_at(view, least);
    return most - fewest > most_ahead_ &&
           static_cast<double>(most) > most_times_ * static_cast<double>(fewest);
  }
  static std::int64_t requests_at(const RoutingView& view, std::size_t replica) {
    const PlaceInView at = place_in(view, replica);
    return at.group->outstanding_requests(at.replica);
  }
  static bool before(const RoutingView& view, std::size_t a, std::size_t b) {
    return std::pair(requests_at(view, a), a) < std::pair(requests_at(view, b), b);
  }

  double share_;
  std::int64_t most_ahead_;
  double most_times_;
  std::int64_t remembered_;
};

}  // namespace

std::shared_ptr<const RoutingPolicy> make_prefix_affinity_routing(Params& params) {
  constexpr std::int64_t any = std::numeric_limits<std::int32_t>::max();
  const double share = params.number({"cache_threshold",
                                      "A prompt follows its beginning where more than this share of it was "
                                      "sent to that replica before."},
                                     {0, 1}, 0.5);
  const std::int64_t ahead = params.integer(
      {"balance_abs_threshold",
       "Loads are out of balance where the most loaded replica has more requests than this beyond the "
       "least loaded one's, and"},
      {0, any}, 32);
  const double times = params.number(
      {"balance_rel_threshold", "more than so many times its requests; prompts follow nothing then."},
      {1, std::numeric_limits<double>::max()}, 1.1);
  // 31,250 blocks of 16 tokens: DefaultLRUCapacityPerServer of
  // kubernetes-sigs/gateway-api-inference-extension
  // (pkg/epp/scheduling/framework/plugins/multi/prefix/plugin.go, commit 00913f92), made for llama3-8b on an
  // H100.
  const std::int64_t remembered = params.integer(
      {"remembered_tokens",
       "Tokens of prompts that the router remembers of each replica; too many are long gone from its cache."},
      {1, 1'000'000'000'000}, 500'000);
  return std::make_shared<PrefixAffinity>(share, ahead, times, remembered);
}

}  // namespace weir
