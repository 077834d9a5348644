// A session stays where its last request was served, as its KV cache is there: sticky sessions, by a header
// of vLLM's production stack (its session router) and of load balancers. Soft where it may leave for a
// replica that has less to do; a session that was away for long is a new one.
#include <limits>

#include "policies/routing/routing.h"

namespace weir {
namespace {

std::int64_t requests_at(const RoutingView& view, std::size_t replica) {
  const PlaceInView at = place_in(view, replica);
  return at.group->outstanding_requests(at.replica);
}

class SessionAffinity final : public RoutingPolicy {
 public:
  SessionAffinity(Seconds time_to_live, std::int64_t most_ahead)
      : time_to_live_(time_to_live), most_ahead_(most_ahead) {}

  RoutingNeeds needs() const override { return {.sessions = true}; }
  std::size_t route(const Request&, const RoutingView& view) const override {
    const std::size_t least = with_fewest_requests(view);
    if (!view.last_visit || view.last_visit->ago > time_to_live_) return least;
    const std::int64_t ahead = requests_at(view, view.last_visit->replica) - requests_at(view, least);
    return ahead > most_ahead_ ? least : view.last_visit->replica;
  }
  std::vector<RoutingScores> scores(const Request& request, const RoutingView& view) const override {
    std::vector<RoutingScores> all = RoutingPolicy::scores(request, view);
    if (!view.last_visit) return all;
    all.push_back({"served_last", std::vector<double>(view.size(), 0)});
    all.back().values[view.last_visit->replica] = 1;
    return all;
  }

 private:
  Seconds time_to_live_;
  std::int64_t most_ahead_;
};

}  // namespace

std::shared_ptr<const RoutingPolicy> make_session_affinity_routing(Params& params) {
  const auto time_to_live =
      params.quantity_or_null<Seconds>({"time_to_live_s",
                                        "A session whose last request was routed longer ago goes where the "
                                        "fewest requests are; null: never."});
  const auto most_ahead = params.integer_or_null(
      {"most_ahead",
       "Requests that the session's replica may have more than the one with the fewest, beyond which the "
       "session moves there; null: it never moves."},
      {0, std::numeric_limits<std::int32_t>::max()});
  return std::make_shared<SessionAffinity>(
      time_to_live.value_or(Seconds(std::numeric_limits<double>::infinity())),
      most_ahead.value_or(std::numeric_limits<std::int64_t>::max()));
}

}  // namespace weir
