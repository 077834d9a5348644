// Speculative decoding, played: what it may never gain, what it must, and what changes nothing.
#include <catch2/catch.hpp>

#include "test/serving/random_scenario.h"

using namespace weir;
using test::Outcome;

namespace {

Json speculating(Json scenario, const Json& speculative) {
  for (Json& replica : scenario["serving"]["replicas"]) replica["speculative"] = speculative;
  return scenario;
}

// Alike requests that all come at once: nearly all of it is decodes.
Json decodes_scenario(std::int64_t output) {
  Json s = test::small_scenario();
  s["workload"] = {
      {"requests", {{"kind", "fixed"}, {"count", 32}, {"input_tokens", 64}, {"output_tokens", output}}},
      {"arrivals", {{"kind", "all_at_once"}}}};
  return s;
}

double mean_tpot(const Outcome& o) {
  REQUIRE(o.error == "");
  double sum = 0;
  for (const RequestRecord& r : o.requests)
    sum += (r.finished - r.first_token).value() / static_cast<double>(r.request.output_tokens - 1);
  return sum / static_cast<double>(o.requests.size());
}

Json drafting_with(const char* kind, int tokens, double length) {
  return {{"kind", kind}, {"tokens", tokens}, {"acceptance_length", length}};
}

// It has dice of its own, so that what else a seed stands for stays.
Json random_drafts(unsigned seed) {
  const char* const kinds[] = {"ngram", "mtp", "eagle", "draft"};
  const int tokens = 1 + static_cast<int>(seed % 5);
  Json drafts = drafting_with(kinds[seed % 4], tokens, 1 + tokens * 0.125 * static_cast<double>(seed % 9));
  if (seed % 4 == 3) drafts["model"] = {{"base", "llama3.1-8b"}, {"num_hidden_layers", 2}};
  return drafts;
}

Json random_speculation(unsigned seed, bool one_stage) {
  Json s = speculating(test::random_scenario(seed, one_stage), random_drafts(seed));
  for (Json& replica : s["serving"]["replicas"]) {
    Json& batching = replica["batching"];
    const int rows = batching["max_batch_requests"].get<int>() * 6;
    if (batching.value("max_batch_tokens", rows) < rows) batching["max_batch_tokens"] = rows;
  }
  return s;
}

}  // namespace

TEST_CASE("speculation: with an acceptance length of 1 it is no faster than none", "[engine]") {
  for (const char* kind : {"ngram", "mtp"})
    for (const int tokens : {1, 3, 7}) {
      const double none = mean_tpot(test::run(decodes_scenario(120)));
      const double drafted =
          mean_tpot(test::run(speculating(decodes_scenario(120), drafting_with(kind, tokens, 1))));
      CAPTURE(kind, tokens);
      CHECK(drafted >= none);
    }
}

TEST_CASE("speculation: with all drafts accepted it is no slower than the widened step over as many tokens",
          "[engine]") {
  for (const char* kind : {"ngram", "eagle"})
    for (const int tokens : {1, 3, 7}) {
      const Json scenario = decodes_scenario(1 + 8 * 15);
      const double wide = mean_tpot(test::run(speculating(scenario, drafting_with(kind, tokens, 1))));
      const Outcome all = test::run(speculating(scenario, drafting_with(kind, tokens, tokens + 1)));
      CAPTURE(kind, tokens);
      CHECK(mean_tpot(all) <= 1.002 * wide / (tokens + 1));
      CHECK(all.decodes * (tokens + 1) == 32 * 8 * 15);
      CHECK(all.accepted == all.decodes * tokens);
      CHECK(all.gap_count == all.decodes);  // tokens of one step are one gap
    }
}

TEST_CASE("speculation: as many drafts are accepted as were asked for, whatever the batches", "[engine]") {
  Json scenario = speculating(decodes_scenario(400), drafting_with("mtp", 3, 2.5));
  const Outcome together = test::run(scenario);
  CHECK(1 + together.accepted / together.decodes == Approx(2.5).epsilon(0.02));
  Json& replica = scenario["serving"]["replicas"][0];
  replica["batching"] = {{"max_batch_requests", 3}};
  const Outcome few = test::run(scenario);
  replica["count"] = 4;
  replica["batching"] = {{"kind", "orca"}};
  const Outcome apart = test::run(scenario);
  for (const Outcome* other : {&few, &apart}) {
    CHECK(other->accepted == together.accepted);
    CHECK(other->decodes == together.decodes);
  }
  scenario["seed"] = 2;
  CHECK(test::run(scenario).accepted != together.accepted);
}

TEST_CASE("speculation: the laws hold, whatever drafts and whatever the layout", "[engine]") {
  int drafted = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Json scenario = random_speculation(seed, seed % 2 == 0);
    const Outcome o = test::run(scenario);
    test::check_laws(scenario, o);
    drafted += o.decodes > 0;
  }
  CHECK(drafted > 50);
}

TEST_CASE("speculation: the laws hold where tokens leave the front end one by one", "[engine]") {
  for (unsigned seed = 200; seed < 212; ++seed) {
    Json scenario = random_speculation(seed, true);
    for (Json& replica : scenario["serving"]["replicas"])
      replica["engine"]["front_end_tokens_per_s"] = 500 + 500 * (seed % 5);
    test::check_laws(scenario, test::run(scenario));
  }
}

TEST_CASE("speculation: runs that are summed up are those that are stepped", "[engine]") {
  for (unsigned seed = 100; seed < 130; ++seed) {
    Json scenario = random_speculation(seed, true);
    const Outcome fast = test::run(scenario);
    scenario["fast_forward"] = false;
    const Outcome slow = test::run(scenario);
    INFO(scenario.dump());
    test::check_same(fast, slow);
    CHECK(fast.accepted == slow.accepted);
  }
}

TEST_CASE("speculation: the same scenario gives the same bits", "[engine]") {
  test::check_same_bits(random_speculation(7, true));
}

// The last full block that a waiting request finds is computed again, and found all the same: once it is
// evicted, the one before it is computed again, and the order of those who wait is another.
TEST_CASE("speculation: a run ends before it evicts the block that who waits would compute again",
          "[engine]") {
  Json s = test::small_scenario();
  s["seed"] = 200834;
  Json& replica = s["serving"]["replicas"][0];
  replica["batching"] = {
      {"kind", "longest_prefix_match"}, {"max_batch_requests", 16}, {"max_batch_tokens", 2048}};
  replica["kv_cache"] = {
      {"block_tokens", 64}, {"blocks", 312}, {"admission", "sequence"}, {"prefix_caching", true}};
  replica["engine"] = {{"kind", "trtllm"}};
  replica["speculative"] = {{"kind", "mtp"}, {"tokens", 3}, {"acceptance_length", 1.6}};
  s["workload"] = {{"requests",
                    {{"kind", "generated_sessions"},
                     {"count", 28},
                     {"system_tokens", 0},
                     {"turns", {{"kind", "uniform"}, {"min", 2}, {"max", 6}}},
                     {"first_input", {{"kind", "lognormal"}, {"mean", 500}, {"std", 400}, {"max", 1500}}},
                     {"new_input", {{"kind", "lognormal"}, {"mean", 300}, {"std", 300}, {"max", 1200}}},
                     {"output", {{"kind", "gamma"}, {"mean", 200}, {"std", 60}, {"max", 600}}},
                     {"gap_ms", {{"kind", "lognormal"}, {"mean", 50}, {"std", 500}, {"max", 5000}}},
                     {"compaction", {{"above_tokens", 3500}, {"summary_tokens", 200}}},
                     {"sub_agents",
                      {{"probability", 0.2},
                       {"turns", {{"kind", "uniform"}, {"min", 1}, {"max", 3}}},
                       {"first_input", {{"kind", "fixed"}, {"value", 300}}}}}}},
                   {"arrivals", {{"kind", "poisson"}, {"rate_per_s", 4}}}};
  const Outcome fast = test::run(s);
  REQUIRE(fast.error == "");
  s["fast_forward"] = false;
  test::check_same(fast, test::run(s));
}
