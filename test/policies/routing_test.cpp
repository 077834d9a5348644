#include <algorithm>
#include <catch2/catch.hpp>

#include "policies/routing/routing.h"
#include "test/policies/dice.h"
#include "test/policies/make_policy.h"

using namespace weir;
using test::policy_of;

namespace {

std::shared_ptr<const RoutingPolicy> make_router(const std::string& kind, Json json = Json::object()) {
  json["kind"] = kind;
  return policy_of(routing_policies(), json);
}

struct Load {
  std::int64_t requests, tokens;
};

class Group final : public ReplicaGroup {
 public:
  explicit Group(const std::vector<Load>& loads) {
    for (const Load& load : loads) {
      add_replica();
      set(tokens_.size(), load);
    }
  }
  void set(std::size_t replica, Load load) {
    set_outstanding_requests(replica, load.requests);
    tokens_.resize(std::max(tokens_.size(), replica + 1));
    tokens_[replica] = load.tokens;
  }
  void take(std::size_t replica, const Request& request) {
    set(replica,
        {outstanding_requests(replica) + 1, tokens_[replica] + request.input_tokens + request.output_tokens});
  }
  std::int64_t outstanding_tokens(std::size_t replica) const override { return tokens_[replica]; }
  std::int64_t spread_of_requests() const {
    std::int64_t least = outstanding_requests(0), most = least;
    for (std::size_t i = 0; i < size(); ++i) {
      least = std::min(least, outstanding_requests(i));
      most = std::max(most, outstanding_requests(i));
    }
    return most - least;
  }
  std::int64_t spread_of_tokens() const {
    const auto [least, most] = std::ranges::minmax(tokens_);
    return most - least;
  }

 private:
  std::vector<std::int64_t> tokens_;
};

std::size_t route(const std::string& kind, const std::vector<const ReplicaGroup*>& groups,
                  std::int64_t routed) {
  return make_router(kind)->route({}, {groups, routed});
}

// Routes `requests` of unlike lengths, none of which ever ends.
Group pile_up(const std::string& kind, std::size_t replicas, int requests, unsigned seed) {
  const auto router = make_router(kind);
  Dice dice(seed);
  Group group(std::vector<Load>(replicas, Load{0, 0}));
  for (int routed = 0; routed < requests; ++routed) {
    const Request request{{}, dice(1, 1000), dice(1, 1000)};
    const ReplicaGroup* const all[] = {&group};
    const std::size_t to = router->route(request, {all, routed});
    REQUIRE(to < replicas);
    group.take(to, request);
  }
  return group;
}

}  // namespace

TEST_CASE("routing: without completions the load spreads as evenly as the policy promises", "[routing]") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const std::size_t replicas = 1 + seed % 9;
    for (const char* kind : {"round_robin", "least_outstanding"})
      CHECK(pile_up(kind, replicas, 200, seed).spread_of_requests() <= 1);
    // The longest request.
    CHECK(pile_up("join_shortest_queue", replicas, 200, seed).spread_of_tokens() <= 2000);
  }
}

TEST_CASE("routing: the fewest requests of a group are those that a walk through it finds", "[routing]") {
  for (const std::size_t replicas : {1u, 2u, 3u, 5u, 8u, 13u, 64u, 100u}) {
    Dice dice(static_cast<unsigned>(replicas));
    std::vector<std::int64_t> requests(replicas, 0);
    Group group(std::vector<Load>(replicas, Load{0, 0}));
    for (int change = 0; change < 1000; ++change) {
      const auto at = static_cast<std::size_t>(dice(0, static_cast<std::int64_t>(replicas) - 1));
      requests[at] = dice(0, 5);
      group.set(at, {requests[at], 0});
      CHECK(group.fewest_requests() ==
            static_cast<std::size_t>(std::ranges::min_element(requests) - requests.begin()));
    }
  }
}

TEST_CASE("routing: round_robin goes round, whatever the loads", "[routing]") {
  const Group some({{9, 9}, {0, 0}}), other({{5, 5}});
  for (std::int64_t routed = 0; routed < 7; ++routed)
    CHECK(route("round_robin", {&some, &other}, routed) == static_cast<std::size_t>(routed % 3));
}

TEST_CASE("routing: the others take the least loaded, by requests or by tokens, the first of equals",
          "[routing]") {
  const Group some({{3, 10}, {2, 50}}), others({{2, 10}, {4, 7}, {4, 7}});
  CHECK(route("least_outstanding", {&some, &others}, 4) == 1);
  CHECK(route("least_outstanding", {&others, &some}, 4) == 0);
  CHECK(route("join_shortest_queue", {&some, &others}, 4) == 3);
}

TEST_CASE("routing: session_affinity stays where the session was, as long and as loaded as it may",
          "[routing]") {
  const Group some({{3, 10}, {0, 50}}), others({{9, 10}});
  const ReplicaGroup* const all[] = {&some, &others};
  const auto goes = [&](const Json& keys, std::optional<RoutingView::Visit> last) {
    return make_router("session_affinity", keys)->route({}, {all, 0, last});
  };
  using Visit = RoutingView::Visit;
  CHECK(goes({}, {}) == 1);
  CHECK(goes({}, Visit{2, Seconds(1e9)}) == 2);
  CHECK(goes({{"time_to_live_s", 10}}, Visit{2, Seconds(10)}) == 2);
  CHECK(goes({{"time_to_live_s", 10}}, Visit{2, Seconds(10.1)}) == 1);
  CHECK(goes({{"most_ahead", 9}}, Visit{2, Seconds(0)}) == 2);
  CHECK(goes({{"most_ahead", 8}}, Visit{2, Seconds(0)}) == 1);
  CHECK(goes({{"most_ahead", 0}}, Visit{1, Seconds(0)}) == 1);
}
