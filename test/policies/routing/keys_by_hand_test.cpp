// Routers by hand over several groups of replicas, with every key at a value of its own.
#include <catch2/catch.hpp>

#include "test/policies/routing/known_group.h"

using namespace weir;
using test::KnownGroup;
using test::router_of;

namespace {

std::size_t routed(const RoutingPolicy& policy, const std::vector<const ReplicaGroup*>& groups,
                   const std::vector<RoutingView::Holder>& holders, std::int64_t input_tokens) {
  RoutingView view{groups, 0};
  view.holders = holders;
  Request request;
  request.input_tokens = input_tokens;
  return policy.route(request, view);
}

}  // namespace

TEST_CASE("routing: each policy asks for what it reads, and for reports as late as its key says",
          "[routing]") {
  const auto needs = [](const Json& keys) { return router_of(keys)->needs(); };
  const RoutingNeeds none = needs({{"kind", "least_outstanding"}});
  CHECK_FALSE((none.sessions || none.loads || none.draws || none.reports || none.remembered_tokens));
  const RoutingNeeds kv_aware = needs({{"kind", "kv_aware"}, {"view_delay_ms", 20}});
  CHECK((kv_aware.loads && kv_aware.draws && !kv_aware.sessions && !kv_aware.remembered_tokens));
  CHECK(kv_aware.reports.value().value() == Approx(0.02));
  const RoutingNeeds scores = needs({{"kind", "weighted_scores"}, {"view_delay_ms", 30}});
  CHECK((scores.draws && !scores.loads && !scores.sessions && !scores.remembered_tokens));
  CHECK(scores.reports.value().value() == Approx(0.03));
  const RoutingNeeds prefix = needs({{"kind", "prefix_affinity"}, {"remembered_tokens", 700}});
  CHECK((prefix.remembered_tokens == 700 && !prefix.reports && !prefix.loads));
  CHECK(needs({{"kind", "session_affinity"}}).sessions);
  for (const char* kind : {"kv_aware", "weighted_scores"})
    CHECK(needs({{"kind", kind}}).reports.value().value() == Approx(0.05));
  CHECK(needs({{"kind", "prefix_affinity"}}).remembered_tokens == 500'000);
}

TEST_CASE("routing: kv_aware credits hits in a host's memory and on a disk by their own keys", "[routing]") {
  // 10 blocks of 10 tokens: 4 of them in the first one's host memory, 6 on the second one's disk.
  const auto goes = [](double host, double disk) {
    const auto policy =
        router_of({{"kind", "kv_aware"}, {"host_cache_hit_weight", host}, {"disk_cache_hit_weight", disk}});
    KnownGroup first(10), second(10);
    first.add(*policy, {});
    second.add(*policy, {});
    return routed(*policy, {&first, &second},
                  {{.replica = 0, .host_tokens = 40}, {.replica = 1, .disk_tokens = 60}}, 100);
  };
  CHECK(goes(0.5, 0.25) == 0);  // 2 blocks against 1.5
  CHECK(goes(0.5, 0.5) == 1);   // against 3
  CHECK(goes(0.8, 0.5) == 0);   // 3.2
}

TEST_CASE("routing: kv_aware weighs prompts to compute, running blocks and requests by three keys",
          "[routing]") {
  // Beside the request's own: 6 blocks to compute; 5 that run; 4 requests.
  const auto goes = [](double prefill, double request) {
    const auto policy = router_of(
        {{"kind", "kv_aware"}, {"prefill_load_scale", prefill}, {"decode_active_request_weight", request}});
    KnownGroup some(10), others(10);
    some.add(*policy, {.requests = 0, .prompt_tokens = 60, .blocks = 0});
    some.add(*policy, {.requests = 0, .prompt_tokens = 0, .blocks = 5});
    others.add(*policy, {.requests = 4, .prompt_tokens = 0, .blocks = 0});
    return routed(*policy, {&some, &others}, {}, 100);
  };
  CHECK(goes(1, 2) == 1);    // 6, 5, 8
  CHECK(goes(0.5, 2) == 0);  // 3, 5, 8
  CHECK(goes(1, 1) == 2);    // 6, 5, 4
}

TEST_CASE("routing: weighted_scores weighs queues, free blocks and hits by three keys", "[routing]") {
  // Queues score 1, 0 and 0.5; free blocks 0.1, 0.9 and 0.5; hits 0, 0 and 0.3 of 10 full blocks.
  const auto goes = [](double queue, double kv_cache, double prefix) {
    const auto policy = router_of({{"kind", "weighted_scores"},
                                   {"queue_weight", queue},
                                   {"kv_cache_weight", kv_cache},
                                   {"prefix_weight", prefix}});
    KnownGroup some(10), others(10);
    some.add(*policy, {}, {0, 0.9});
    some.add(*policy, {}, {4, 0.1});
    others.add(*policy, {}, {2, 0.5});
    return routed(*policy, {&some, &others}, {{.replica = 2, .tokens = 30}}, 105);
  };
  CHECK(goes(3, 1, 0) == 0);  // 3.1, 0.9, 2
  CHECK(goes(1, 3, 0) == 1);  // 1.3, 2.7, 2
  CHECK(goes(1, 1, 4) == 2);  // 1.1, 0.9, 2.2
  CHECK(goes(1, 1, 0) == 0);  // 1.1, 0.9, 1
}

TEST_CASE("routing: prefix_affinity looks for imbalance over all groups, and ties go to the lower number",
          "[routing]") {
  const auto goes = [](const std::vector<std::int64_t>& some, const std::vector<std::int64_t>& others,
                       const std::vector<RoutingView::Holder>& holders) {
    const auto policy =
        router_of({{"kind", "prefix_affinity"}, {"balance_abs_threshold", 40}, {"balance_rel_threshold", 3}});
    KnownGroup first, second;
    for (const std::int64_t requests : some) first.add(*policy, {.requests = requests});
    for (const std::int64_t requests : others) second.add(*policy, {.requests = requests});
    return routed(*policy, {&first, &second}, holders, 100);
  };
  const std::vector<RoutingView::Holder> last = {{.replica = 3, .tokens = 80}};
  CHECK(goes({1, 2}, {41, 9}, last) == 3);     // 40 more are not beyond 40
  CHECK(goes({1, 2}, {42, 9}, last) == 0);     // 41 are
  CHECK(goes({21, 30}, {62, 63}, last) == 3);  // 63 are no more than three times 21
  CHECK(goes({21, 30}, {62, 64}, last) == 0);
  CHECK(goes({5, 5}, {5, 5}, {{.replica = 2, .tokens = 80}, {.replica = 1, .tokens = 80}}) == 1);
  CHECK(goes({5, 5}, {4, 5}, {{.replica = 1, .tokens = 80}, {.replica = 2, .tokens = 80}}) == 2);
}

TEST_CASE("routing: the most requests of a group fall again with the replica that had them", "[routing]") {
  class Changing final : public ReplicaGroup {
   public:
    Changing() {
      for (int i = 0; i < 3; ++i) add_replica();
    }
    void set(std::size_t replica, std::int64_t requests) { set_outstanding_requests(replica, requests); }
    std::int64_t outstanding_tokens(std::size_t) const override { return 0; }
  };
  Changing group;
  CHECK((group.most_requests() == 0 && group.fewest_requests() == 0));
  group.set(0, 9), group.set(1, 4), group.set(2, 4);
  CHECK((group.most_requests() == 9 && group.fewest_requests() == 1));
  group.set(0, 2);
  CHECK((group.most_requests() == 4 && group.fewest_requests() == 0));
  group.set(1, 0);
  CHECK((group.most_requests() == 4 && group.fewest_requests() == 1));
  group.set(2, 1);
  CHECK(group.most_requests() == 2);
  group.set(0, 0), group.set(2, 0);
  CHECK((group.most_requests() == 0 && group.fewest_requests() == 0));
}
