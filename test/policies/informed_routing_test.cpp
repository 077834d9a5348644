// Routers that know what replicas hold and what they were sent: their choice is that of a walk over all
// replicas.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "test/policies/dice.h"
#include "test/policies/routing/known_group.h"

using namespace weir;
using test::KnownGroup;
using test::router_of;

namespace {

std::shared_ptr<const RoutingPolicy> informed_router(const std::string& kind, Json keys = Json::object()) {
  keys["kind"] = kind;
  return router_of(keys);
}

struct Snapshot {  // of a router
  std::vector<KnownGroup> groups;
  std::vector<const ReplicaGroup*> all;
  std::vector<RoutingView::Holder> holders;
  Request request;

  std::size_t chosen_by(const RoutingPolicy& policy, double die) const {
    RoutingView view{all, 0};
    view.holders = holders;
    view.die = die;
    return policy.route(request, view);
  }
  std::vector<RoutingScores> scores_of(const RoutingPolicy& policy) const {
    RoutingView view{all, 0};
    view.holders = holders;
    return policy.scores(request, view);
  }
};

// Few different loads, so that there are ties. Sums of these numbers are exact.
Snapshot any_snapshot(Dice& dice, const RoutingPolicy& policy) {
  Snapshot s;
  s.request.input_tokens = dice(1, 200);
  s.groups.reserve(3);
  std::size_t number = 0;
  for (std::int64_t g = dice(1, 3); g > 0; --g) {
    KnownGroup& group = s.groups.emplace_back(std::int64_t{1} << dice(2, 4));
    for (std::int64_t i = dice(1, 6); i > 0; --i, ++number) {
      group.add(policy, {dice(0, 2), 16 * dice(0, 2), dice(0, 3)},
                {dice(0, 3), static_cast<double>(dice(0, 4)) / 4});
      if (dice(0, 2) > 0) continue;
      const std::int64_t block = group.block_tokens(), blocks = s.request.input_tokens / block;
      const std::int64_t host = dice(0, 1) * dice(0, blocks);
      const std::int64_t device = dice(0, blocks - host);
      s.holders.push_back({number, device * block, host * block,
                           (blocks - host - device) * block * dice(0, 1),
                           dice(0, std::min(device, group.load(group.size() - 1).blocks))});
    }
  }
  for (const KnownGroup& group : s.groups) s.all.push_back(&group);
  std::ranges::reverse(s.holders);
  return s;
}

using Numbers = std::vector<double>;

// Dynamo's cost, written down again for each replica by itself.
Numbers costs_of(const Snapshot& s, const std::map<std::string, double>& weights) {
  Numbers costs;
  for (const KnownGroup& group : s.groups)
    for (std::size_t i = 0; i < group.size(); ++i) {
      RoutingView::Holder has{costs.size()};
      for (const auto& holder : s.holders)
        if (holder.replica == costs.size()) has = holder;
      const auto block = static_cast<double>(group.block_tokens());
      const ReplicaLoad& load = group.load(i);
      const double raw = static_cast<double>(load.prompt_tokens + s.request.input_tokens) / block;
      const double credit = weights.at("overlap_score_credit") * static_cast<double>(has.tokens) / block +
                            0.75 * static_cast<double>(has.host_tokens) / block +
                            0.25 * static_cast<double>(has.disk_tokens) / block;
      const double decode = static_cast<double>(load.blocks) +
                            static_cast<double>(s.request.input_tokens / group.block_tokens()) -
                            static_cast<double>(has.shared_blocks);
      costs.push_back(weights.at("prefill_load_scale") * std::max(0., raw - credit) + decode +
                      weights.at("decode_active_request_weight") * static_cast<double>(load.requests));
    }
  return costs;
}

std::set<std::size_t> least_of(const Numbers& costs) {
  std::set<std::size_t> all;
  for (std::size_t i = 0; i < costs.size(); ++i)
    if (costs[i] == std::ranges::min(costs)) all.insert(i);
  return all;
}

std::set<std::size_t> least_of_minus(Numbers scores) {
  for (double& score : scores) score = -score;
  return least_of(scores);
}

}  // namespace

TEST_CASE("routing: the least of loads, its ties and each of them are those that a walk finds", "[routing]") {
  for (const std::size_t count : {1u, 2u, 3u, 7u, 8u, 9u, 100u}) {
    Dice dice(static_cast<unsigned>(count));
    LeastLoads tree;
    Numbers loads(count, 0);
    for (std::size_t i = 0; i < count; ++i) tree.add(0);
    for (int change = 0; change < 500; ++change) {
      const auto at = static_cast<std::size_t>(dice(0, static_cast<std::int64_t>(count) - 1));
      loads[at] = static_cast<double>(dice(0, 4));
      tree.set(at, loads[at]);
      const std::set<std::size_t> least = least_of(loads);
      REQUIRE(tree.least() == std::ranges::min(loads));
      REQUIRE(tree[at] == loads[at]);
      REQUIRE(tree.ties() == least.size());
      std::size_t k = 0;
      for (const std::size_t i : least) REQUIRE(tree.tie(k++) == i);
    }
  }
}

TEST_CASE("routing: the most requests of a group are those that a walk finds", "[routing]") {
  Dice dice(1);
  const auto policy = informed_router("prefix_affinity");
  for (int i = 0; i < 300; ++i) {
    KnownGroup group;
    std::int64_t most = 0;
    for (std::int64_t replicas = dice(1, 9); replicas > 0; --replicas) {
      const std::int64_t requests = dice(0, 50);
      most = std::max(most, requests);
      group.add(*policy, {.requests = requests});
    }
    CHECK(group.most_requests() == most);
  }
}

TEST_CASE("routing: kv_aware takes the least of Dynamo's costs over all replicas, equals alike",
          "[routing]") {
  std::size_t by_holders = 0, tied = 0, tied_with_holders = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    Dice dice(seed);
    const std::map<std::string, double> weights = {
        {"overlap_score_credit", static_cast<double>(dice(0, 2)) / 2},
        {"prefill_load_scale", static_cast<double>(dice(0, 4)) / 2},
        {"decode_active_request_weight", static_cast<double>(dice(0, 1))}};
    const auto policy = informed_router("kv_aware", Json(weights));
    const Snapshot s = any_snapshot(dice, *policy);
    const Numbers costs = costs_of(s, weights);
    REQUIRE(s.scores_of(*policy)[0].values == costs);
    const std::set<std::size_t> least = least_of(costs);
    std::map<std::size_t, int> chosen;
    for (std::size_t k = 0; k < least.size(); ++k)
      ++chosen[s.chosen_by(*policy, (static_cast<double>(k) + 0.5) / static_cast<double>(least.size()))];
    INFO("seed " << seed);
    REQUIRE(chosen.size() == least.size());  // each by as much of the die
    std::size_t holders = 0;
    for (const auto& [replica, times] : chosen) {
      REQUIRE(least.contains(replica));
      holders +=
          static_cast<std::size_t>(std::ranges::count(s.holders, replica, &RoutingView::Holder::replica));
    }
    by_holders += holders == least.size();
    tied += least.size() > 1;
    tied_with_holders += holders > 0 && holders < least.size();
  }
  CHECK(by_holders > 500);
  CHECK(tied > 500);
  CHECK(tied_with_holders > 50);
}

TEST_CASE("routing: kv_aware with a temperature draws by softmax of costs over their range", "[routing]") {
  const std::map<std::string, double> weights = {
      {"overlap_score_credit", 1}, {"prefill_load_scale", 1}, {"decode_active_request_weight", 0}};
  for (unsigned seed = 0; seed < 50; ++seed) {
    Dice dice(seed);
    const auto policy = informed_router("kv_aware", {{"router_temperature", 0.5}});
    const Snapshot s = any_snapshot(dice, *policy);
    const Numbers costs = costs_of(s, weights);
    const auto [least, most] = std::ranges::minmax(costs);
    Numbers shares, drawn(costs.size(), 0);
    double sum = 0;
    for (const double cost : costs) {
      shares.push_back(most > least ? std::exp(-(cost - least) / (most - least) / 0.5) : 1);
      sum += shares.back();
    }
    const int times = 4000;
    for (int i = 0; i < times; ++i) drawn[s.chosen_by(*policy, (i + 0.5) / times)] += 1. / times;
    for (std::size_t i = 0; i < costs.size(); ++i) CHECK(drawn[i] == Approx(shares[i] / sum).margin(1e-3));
  }
}

TEST_CASE("routing: weighted_scores takes the highest sum of llm-d's scores, equals alike", "[routing]") {
  std::size_t tied = 0, by_hits = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Dice dice(seed);
    const auto policy = informed_router("weighted_scores");
    const Snapshot s = any_snapshot(dice, *policy);
    std::int64_t shortest = 1000, longest = 0;
    for (const KnownGroup& group : s.groups)
      for (std::size_t i = 0; i < group.size(); ++i) {
        shortest = std::min(shortest, group.report(i).waiting);
        longest = std::max(longest, group.report(i).waiting);
      }
    Numbers minus_scores;
    for (const KnownGroup& group : s.groups)
      for (std::size_t i = 0; i < group.size(); ++i) {
        double hit = 0;
        const std::int64_t whole = s.request.input_tokens / group.block_tokens();
        for (const auto& holder : s.holders)
          if (holder.replica == minus_scores.size() && whole > 0)
            hit = static_cast<double>(holder.tokens) / static_cast<double>(whole * group.block_tokens());
        const double queue = longest == shortest ? 1
                                                 : static_cast<double>(longest - group.report(i).waiting) /
                                                       static_cast<double>(longest - shortest);
        minus_scores.push_back(-(1 * queue + 1 * (1 - group.report(i).kv_used) + 2 * hit));
      }
    const std::set<std::size_t> best = least_of(minus_scores);
    REQUIRE(least_of_minus(s.scores_of(*policy)[0].values) == best);
    std::set<std::size_t> chosen;
    for (std::size_t k = 0; k < best.size(); ++k)
      chosen.insert(s.chosen_by(*policy, (static_cast<double>(k) + 0.5) / static_cast<double>(best.size())));
    INFO("seed " << seed);
    REQUIRE(chosen == best);
    tied += best.size() > 1;
    by_hits +=
        best.size() == 1 && std::ranges::count(s.holders, *best.begin(), &RoutingView::Holder::replica);
  }
  CHECK(tied > 50);
  CHECK(by_hits > 500);
}

TEST_CASE("routing: prefix_affinity follows the longest beginning above its share, while loads are balanced",
          "[routing]") {
  const auto policy = informed_router("prefix_affinity");
  Snapshot s;
  s.groups.emplace_back();
  for (const std::int64_t requests : {20, 30, 10}) s.groups[0].add(*policy, {.requests = requests});
  s.all = {&s.groups[0]};
  s.request.input_tokens = 100;
  CHECK(s.chosen_by(*policy, 0) == 2);
  s.holders = {{.replica = 1, .tokens = 50}};
  CHECK(s.chosen_by(*policy, 0) == 2);  // not above half
  s.holders = {{.replica = 1, .tokens = 51}};
  CHECK(s.chosen_by(*policy, 0) == 1);
  const std::vector<RoutingScores> scores = s.scores_of(*policy);
  REQUIRE(scores.size() == 2);
  CHECK((scores[0].of == std::string("requests") && scores[0].values == Numbers{20, 30, 10}));
  CHECK((scores[1].of == std::string("found_tokens") && scores[1].values == Numbers{0, 51, 0}));
  s.holders = {{.replica = 1, .tokens = 60}, {.replica = 2, .tokens = 60}, {.replica = 0, .tokens = 60}};
  CHECK(s.chosen_by(*policy, 0) == 2);  // of equals the one with less to do
  s.holders = {{.replica = 1, .tokens = 61}, {.replica = 2, .tokens = 60}};
  CHECK(s.chosen_by(*policy, 0) == 1);

  const auto with = [&](Json keys, std::vector<std::int64_t> requests) {
    const auto strict = informed_router("prefix_affinity", std::move(keys));
    Snapshot other;
    other.groups.emplace_back();
    for (const std::int64_t n : requests) other.groups[0].add(*strict, {.requests = n});
    other.all = {&other.groups[0]};
    other.request.input_tokens = 100;
    other.holders = {{.replica = 1, .tokens = 100}};
    return other.chosen_by(*strict, 0);
  };
  CHECK(with({}, {0, 32}) == 1);
  CHECK(with({}, {0, 33}) == 0);
  CHECK(with({}, {330, 363}) == 1);  // not above 1.1 times
  CHECK(with({}, {330, 364}) == 0);
  CHECK(with({{"balance_abs_threshold", 5}}, {0, 6}) == 0);
  CHECK(with({{"balance_abs_threshold", 5}, {"balance_rel_threshold", 3}}, {10, 30}) == 1);
}
