#include <algorithm>
#include <catch2/catch.hpp>

#include "policies/routing/routing.h"
#include "test/policies/dice.h"

using namespace weir;

namespace {

std::shared_ptr<const RoutingPolicy> make_router(const std::string& kind) {
  const Json json = {{"kind", kind}};
  Reading reading("test");
  auto policy = make_from(routing_policies(), Params(reading, json), {"kind", "the policy"});
  reading.finish();
  return policy;
}

// Routes `requests` of unlike lengths, none of which ever ends.
std::vector<ReplicaLoad> pile_up(const std::string& kind, std::size_t replicas, int requests, unsigned seed) {
  const auto router = make_router(kind);
  Dice dice(seed);
  std::vector<ReplicaLoad> loads(replicas, ReplicaLoad{0, 0});
  for (int routed = 0; routed < requests; ++routed) {
    const Request request{{}, dice(1, 1000), dice(1, 1000)};
    const std::size_t to = router->route(request, {loads, routed});
    REQUIRE(to < replicas);
    ++loads[to].outstanding_requests;
    loads[to].outstanding_tokens += request.input_tokens + request.output_tokens;
  }
  return loads;
}

}  // namespace

TEST_CASE("routing: without completions the load spreads as evenly as the policy promises", "[routing]") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const std::size_t replicas = 1 + seed % 9;
    for (const char* kind : {"round_robin", "least_outstanding"}) {
      const auto loads = pile_up(kind, replicas, 200, seed);
      const auto [least, most] = std::ranges::minmax(loads, {}, &ReplicaLoad::outstanding_requests);
      CHECK(most.outstanding_requests - least.outstanding_requests <= 1);
    }
    const auto loads = pile_up("join_shortest_queue", replicas, 200, seed);
    const auto [least, most] = std::ranges::minmax(loads, {}, &ReplicaLoad::outstanding_tokens);
    CHECK(most.outstanding_tokens - least.outstanding_tokens <= 2000);  // the longest request
  }
}

TEST_CASE("routing: round_robin goes round, whatever the loads", "[routing]") {
  const std::vector<ReplicaLoad> loads = {{9, 9}, {0, 0}, {5, 5}};
  const auto router = make_router("round_robin");
  for (std::int64_t routed = 0; routed < 7; ++routed)
    CHECK(router->route({}, {loads, routed}) == static_cast<std::size_t>(routed % 3));
}

TEST_CASE("routing: the others take the least loaded, by requests or by tokens, the first of equals",
          "[routing]") {
  const std::vector<ReplicaLoad> loads = {{3, 10}, {2, 50}, {2, 10}, {4, 7}, {4, 7}};
  CHECK(make_router("least_outstanding")->route({}, {loads, 4}) == 1);
  CHECK(make_router("join_shortest_queue")->route({}, {loads, 4}) == 3);
  CHECK(make_router("join_shortest_queue")->reads_tokens());
  CHECK_FALSE(make_router("least_outstanding")->reads_tokens());
}
