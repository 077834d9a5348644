// Greedy min-load bin packing (NeuPIMs, ASPLOS '24, Section 6.4, Algorithm 2): the longest request first,
// each to the channel of least load, the load of a channel being the sum of Algorithm 1's estimates of its
// requests. Beyond the paper: channels without room for it are left out, if others have it; of
// equally loaded ones the emptiest is taken, as the load is that of the next step alone, and where all others
// are in flight in a pipeline it is zero everywhere.
#include <numeric>
#include <utility>

#include "policies/placement/channels.h"

namespace weir {
namespace {

class GreedyMinLoad final : public ChannelPlacementPolicy {
 public:
  explicit GreedyMinLoad(Division division) : division_(division) {}

  Validity place(const PlacementView& view, std::span<PlacedRequest> requests) const override {
    Channels channels(view);
    std::vector<double> loads(view.free_blocks.size());
    const auto add = [&](const PlacedRequest& request) {
      loads[static_cast<std::size_t>(request.channel)] +=
          estimate_mha(view.mha, request.tokens, division_).total();
    };
    for (const PlacedRequest& request : view.placed) add(request);
    for (const std::size_t i : longest_first(requests)) {
      channels.put(requests[i], least(loads, channels, channels.enough(requests[i])));
      add(requests[i]);
    }
    return {};
  }

 private:
  static std::vector<std::size_t> longest_first(std::span<const PlacedRequest> requests) {
    std::vector<std::size_t> order(requests.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(
        order, [&](std::size_t a, std::size_t b) { return requests[a].tokens > requests[b].tokens; });
    return order;
  }

  static int least(const std::vector<double>& loads, const Channels& channels, std::int64_t enough) {
    int best = -1;
    const auto rank = [&](int c) { return std::pair(loads[static_cast<std::size_t>(c)], -channels.free(c)); };
    for (int c = 0; c < channels.size(); ++c)
      if (channels.free(c) >= enough && (best < 0 || rank(c) < rank(best))) best = c;
    return best;
  }

  Division division_;
};

}  // namespace

std::shared_ptr<const ChannelPlacementPolicy> make_greedy_min_load_placement(Params& params) {
  const auto division = params.choice<Division>(
      {"estimate", "A request's load: NeuPIMs' Algorithm 1 with whole tiles and pages, or as it is printed."},
      {{"ceilings", Division::ceilings}, {"as_published", Division::real}}, "ceilings");
  return std::make_shared<GreedyMinLoad>(division);
}

}  // namespace weir
