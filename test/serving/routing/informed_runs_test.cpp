// Whole runs under routers that know what replicas hold: each choice is that of a walk over all replicas, no
// matter how steps are played, with prompts and decodes apart as well; and what such routers refuse.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "test/serving/random_scenario.h"

using namespace weir;
using weir::test::Outcome;

namespace {

// Sessions on a few replicas with caches that are nearly always too small.
Json informed_scenario(unsigned seed, const std::string& kind) {
  std::mt19937 random(seed * 7 + 1);
  Json s = test::random_scenario(seed, true);
  Json& replicas = s["serving"]["replicas"];
  for (Json& replica : replicas) {
    replica["count"] = replicas.size() > 1 ? 2 : 1 + random() % 4;
    replica["parallelism"] = {{"tensor", 1}};
    replica["kv_cache"]["prefix_caching"] = true;
    replica["kv_cache"]["preemption"] = "recompute";
  }
  s["serving"]["routing"] = {{"kind", kind}};
  if (kind == "prefix_affinity")
    s["serving"]["routing"]["remembered_tokens"] = 3000 * (1 + random() % 5);
  else
    s["serving"]["routing"]["view_delay_ms"] = 25 * (random() % 5);
  if (kind == "kv_aware" && random() % 3 == 0) s["serving"]["routing"]["router_temperature"] = 0.3;
  s["workload"] = {{"requests",
                    {{"kind", "generated_sessions"},
                     {"count", 15},
                     {"system_tokens", 100 * (random() % 3)},
                     {"turns", {{"kind", "uniform"}, {"min", 1}, {"max", 6}}},
                     {"first_input", {{"kind", "lognormal"}, {"mean", 300}, {"std", 300}, {"max", 1500}}},
                     {"new_input", {{"kind", "lognormal"}, {"mean", 150}, {"std", 200}, {"max", 700}}},
                     {"output", {{"kind", "lognormal"}, {"mean", 40}, {"std", 40}, {"max", 200}}},
                     {"gap_ms", {{"kind", "lognormal"}, {"mean", 200}, {"std", 300}, {"max", 3000}}}}},
                   {"arrivals", {{"kind", "poisson"}, {"rate_per_s", 3 + random() % 30}}}};
  return s;
}

const char* const informed_kinds[] = {"prefix_affinity", "kv_aware", "weighted_scores"};

std::int64_t found_tokens(const Outcome& o) {
  std::int64_t found = 0;
  for (const RequestRecord& r : o.requests) found += r.found_tokens;
  return found;
}

void require(bool holds, const char* what) {  // in a child, where Catch's checks are nobody's
  if (!holds) throw std::logic_error(what);
}

// Asks kv_aware, by its defaults, and every replica what it would cost there.
class Doubtful final : public RoutingPolicy {
 public:
  explicit Doubtful(std::shared_ptr<const RoutingPolicy> asked) : asked_(std::move(asked)) {}
  RoutingNeeds needs() const override { return asked_->needs(); }
  double value(const ReplicaLoad& load, std::int64_t block_tokens) const override {
    return asked_->value(load, block_tokens);
  }
  std::size_t route(const Request& request, const RoutingView& view) const override {
    const std::size_t chosen = asked_->route(request, view);
    std::vector<double> costs;
    for (const ReplicaGroup* group : view.groups)
      for (std::size_t i = 0; i < group->size(); ++i) {
        const ReplicaLoad& load = group->load(i);
        const auto block = static_cast<double>(group->block_tokens());
        double prefill = static_cast<double>(load.prompt_tokens + request.input_tokens) / block;
        auto running = static_cast<double>(load.blocks + request.input_tokens / group->block_tokens());
        for (const RoutingView::Holder& holder : view.holders)
          if (holder.replica == costs.size()) {
            prefill -= static_cast<double>(holder.tokens) / block;
            running -= static_cast<double>(holder.shared_blocks);
            require(holder.tokens <= request.input_tokens, "a replica holds more than the prompt");
            require(holder.shared_blocks <= load.blocks, "more blocks are shared than there are");
          }
        require(load.prompt_tokens >= 0 && load.blocks >= 0, "a load below nothing");
        require(load.requests > 0 || (load.prompt_tokens == 0 && load.blocks == 0), "a load of nobody");
        require(load.requests == group->outstanding_requests(i), "a load of old");
        costs.push_back(std::max(0., prefill) + running);
      }
    require(costs[chosen] <= std::ranges::min(costs) + 1e-9, "another replica costs less");
    return chosen;
  }

 private:
  std::shared_ptr<const RoutingPolicy> asked_;
};

}  // namespace

TEST_CASE("informed routing: kv_aware takes whoever a walk over all replicas finds to cost least",
          "[routing][runs]") {
  std::int64_t found = 0, runs = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    Json scenario = informed_scenario(seed, "kv_aware");
    scenario["serving"]["routing"].erase("router_temperature");
    INFO(scenario.dump());
    const Outcome o = test::run(scenario, [](Plan& plan) {
      plan.scenario.routing = std::make_shared<Doubtful>(plan.scenario.routing);
    });
    REQUIRE(o.error == "");
    found += found_tokens(o);
    runs += found_tokens(o) > 0;
  }
  CHECK(runs > 30);
  CHECK(found > 30'000);
}

TEST_CASE("informed routing: all requests end, and steps that are summed change nothing", "[routing][runs]") {
  for (const char* kind : informed_kinds) {
    std::int64_t found = 0, apart = 0;
    for (unsigned seed = 0; seed < 25; ++seed) {
      Json scenario = informed_scenario(seed, kind);
      INFO(scenario.dump());
      const Outcome fast = test::run(scenario);
      REQUIRE(fast.error == "");
      for (const RequestRecord& r : fast.requests) {
        REQUIRE(r.status != RequestStatus::unfinished);
        REQUIRE(r.found_tokens <= r.request.input_tokens);
      }
      found += found_tokens(fast);
      apart += scenario["serving"]["replicas"].size() > 1 && found_tokens(fast) > 0;
      scenario["fast_forward"] = false;
      test::check_same(fast, test::run(scenario));
    }
    INFO(kind);
    CHECK(found > 10'000);
    CHECK(apart > 0);
  }
}

TEST_CASE("informed routing: ranks with KV caches of their own are one replica to it", "[routing][runs]") {
  std::int64_t found = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    Json scenario = informed_scenario(seed, informed_kinds[seed % 3]);
    scenario["model"] = "qwen3-30b-a3b";
    scenario["cluster"]["nodes"] = {
        {{"devices", {{{"kind", "h100_sxm"}, {"count", 8}}}}, {"interconnect", "nvlink4_switch"}}};
    scenario["serving"]["replicas"] = {{{"count", 2},
                                        {"parallelism", {{"attention_data", 2}, {"expert", 2}}},
                                        {"kv_cache", {{"blocks", 600}}},
                                        {"engine", {{"prefill_schedule_interval", seed % 2 == 0 ? 3 : 1}}}}};
    INFO(scenario.dump());
    const Outcome fast = test::run(scenario);
    REQUIRE(fast.error == "");
    found += found_tokens(fast);
    scenario["fast_forward"] = false;
    test::check_same(fast, test::run(scenario));
  }
  CHECK(found > 10'000);
}

TEST_CASE("informed routing: the same scenario and seed give the same run, another seed another",
          "[routing][runs]") {
  for (const char* kind : informed_kinds) {
    const Json scenario = informed_scenario(3, kind);
    test::check_same_bits(scenario);
  }
  // Ties alone: replicas with nothing to do.
  Json scenario = test::small_scenario();
  scenario["serving"] = {{"replicas", {{{"count", 8}}}}, {"routing", {{"kind", "kv_aware"}}}};
  scenario["workload"] = {
      {"requests", {{"kind", "fixed"}, {"count", 40}, {"input_tokens", 50}, {"output_tokens", 2}}},
      {"arrivals", {{"kind", "poisson"}, {"rate_per_s", 1}}}};
  const auto replicas = [](const Outcome& o) {
    std::vector<int> all;
    for (const RequestRecord& r : o.requests) all.push_back(r.replica);
    return all;
  };
  const std::vector<int> once = replicas(test::run(scenario));
  CHECK(replicas(test::run(scenario)) == once);
  for (int i = 0; i < 8; ++i) CHECK(std::ranges::count(once, i) > 0);
  scenario["seed"] = 5;
  CHECK(replicas(test::run(scenario)) != once);
}

TEST_CASE("informed routing: a turn follows its session once the router has heard of it, and not before",
          "[routing][runs]") {
  Json scenario = test::small_scenario();
  scenario["serving"] = {{"replicas", {{{"count", 4}}}}, {"routing", {{"kind", "kv_aware"}}}};
  scenario["workload"] = {{"requests",
                           {{"kind", "generated_sessions"},
                            {"count", 30},
                            {"system_tokens", 0},
                            {"turns", {{"kind", "fixed"}, {"value", 2}}},
                            {"first_input", {{"kind", "fixed"}, {"value", 500}}},
                            {"new_input", {{"kind", "fixed"}, {"value", 20}}},
                            {"output", {{"kind", "fixed"}, {"value", 10}}},
                            {"gap_ms", {{"kind", "fixed"}, {"value", 100}}}}},
                          {"arrivals", {{"kind", "poisson"}, {"rate_per_s", 0.2}}}};  // one at a time
  const auto second_turns_that_find = [&](double delay_ms) {
    scenario["serving"]["routing"]["view_delay_ms"] = delay_ms;
    const Outcome o = test::run(scenario);
    REQUIRE(o.error == "");
    return std::ranges::count_if(o.requests, [](const RequestRecord& r) { return r.found_tokens > 0; });
  };
  CHECK(second_turns_that_find(0) == 30);
  CHECK(second_turns_that_find(90) == 30);
  // The prompt's end is known from before the decodes on: 10 of 110 ms at most.
  CHECK(second_turns_that_find(1000) < 20);  // one in four, by chance
}

TEST_CASE("informed routing: replicas where nothing is found for others are refused, each at its key",
          "[routing]") {
  for (const char* kind : {"kv_aware", "weighted_scores"})
    for (const Json& caching : {Json(false), Json("own")}) {
      Json scenario = test::small_scenario();
      scenario["serving"] = {{"replicas",
                              {{{"role", "prefill"}, {"kv_cache", {{"prefix_caching", caching}}}},
                               {{"role", "decode"}, {"kv_cache", {{"prefix_caching", caching}}}}}},
                             {"routing", {{"kind", kind}}}};
      const std::vector<Problem> problems = test::problems_of_scenario(scenario);
      REQUIRE(problems.size() == 2);
      CHECK(problems[0].pointer == "/serving/replicas/0/kv_cache/prefix_caching");
      CHECK(problems[1].pointer == "/serving/replicas/1/kv_cache/prefix_caching");
      CHECK_THAT(problems[0].what, Catch::Contains("expected true"));
      scenario["serving"]["routing"] = {{"kind", "prefix_affinity"}};
      CHECK(test::problems_of_scenario(scenario).empty());
    }
  const std::pair<const char*, Json> wrong[] = {
      {"kv_aware", {{"overlap_score_credit", 1.5}, {"router_temperature", -1}, {"view_delay_ms", -1}}},
      {"prefix_affinity",
       {{"cache_threshold", 2},
        {"balance_abs_threshold", 1.5},
        {"balance_rel_threshold", 0.5},
        {"remembered_tokens", 0}}},
      {"weighted_scores", {{"prefix_weight", -1}, {"queue_weight", "1"}, {"kv_weight", 1}}}};
  for (auto [kind, keys] : wrong) {
    const std::size_t count = keys.size();
    Json scenario = test::small_scenario();
    keys["kind"] = kind;
    scenario["serving"]["routing"] = keys;
    const std::vector<Problem> problems = test::problems_of_scenario(scenario);
    INFO(kind);
    CHECK(problems.size() == count);
    for (const Problem& problem : problems) CHECK(problem.pointer.starts_with("/serving/routing/"));
  }
}
