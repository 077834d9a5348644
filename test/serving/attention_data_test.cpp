// Attention data parallelism, played: ranks with requests of their own, in lockstep over shared experts.
#include <catch2/catch.hpp>

#include "test/serving/random_scenario.h"

using namespace weir;
using test::Outcome;

namespace {

// One that interleaves, drafts or has host memories would be refused.
Json random_ranks(unsigned seed, bool one_stage) {
  Json s = test::random_scenario(seed, one_stage);
  s["model"] = "qwen3-30b-a3b";
  s["cluster"]["nodes"] = {{{"count", 4},
                            {"devices", {{{"kind", "h100_sxm"}, {"count", 8}}}},
                            {"interconnect", "nvlink4_switch"}}};
  const int ranks = seed % 2 == 0 ? 2 : 4;
  for (Json& replica : s["serving"]["replicas"]) {
    Json& cut = replica["parallelism"];
    cut["attention_data"] = ranks;
    cut["expert"] = seed % 3 == 0 ? 1 : ranks;
    replica["engine"]["prefill_schedule_interval"] = seed % 5 == 0 ? 7 : 1;
    replica["engine"]["two_batch_overlap"] = seed % 7 == 3;
  }
  return s;
}

// Each request alone on its rank of `ranks`: nothing but decodes, nearly.
Json alike_requests(int ranks, int count) {
  Json s = test::small_scenario();
  s["model"] = "qwen3-30b-a3b";
  s["cluster"]["nodes"][0]["devices"][0]["count"] = 8;
  s["serving"]["replicas"][0]["parallelism"] = {{"attention_data", ranks}, {"expert", ranks}};
  s["serving"]["replicas"][0]["engine"] = {{"kind", "ideal"}};
  s["workload"] = {
      {"requests", {{"kind", "fixed"}, {"count", count}, {"input_tokens", 512}, {"output_tokens", 64}}},
      {"arrivals", {{"kind", "all_at_once"}}}};
  return s;
}

double last_end(const Outcome& o) {
  REQUIRE(o.error == "");
  double end = 0;
  for (const RequestRecord& r : o.requests) {
    REQUIRE(r.status == RequestStatus::completed);
    end = std::max(end, r.finished.value());
  }
  return end;
}

}  // namespace

TEST_CASE("attention data: the laws hold over random scenarios, and fast-forwarding changes nothing",
          "[engine]") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Json scenario = random_ranks(seed, seed % 4 != 0);
    INFO(scenario.dump());
    const Outcome fast = test::run(scenario);
    test::check_laws(scenario, fast);
    scenario["fast_forward"] = false;
    test::check_same(fast, test::run(scenario));
  }
}

TEST_CASE("attention data: a run is the same bits again", "[engine]") {
  for (unsigned seed = 60; seed < 70; ++seed) test::check_same_bits(random_ranks(seed, true));
}

TEST_CASE(
    "attention data: a request for a rank that would run along lengthens the others' steps by its routed "
    "tokens alone",
    "[engine]") {
  const double one = last_end(test::run(alike_requests(4, 1))),
               four = last_end(test::run(alike_requests(4, 4))),
               eight = last_end(test::run(alike_requests(4, 8)));
  // Prompts have no dummies beside them, so that four take longer than one; decodes are as many on each rank.
  CHECK(four > one);
  CHECK(four < 1.35 * one);
  CHECK(eight > four);
}

TEST_CASE("attention data: in a pipeline, whoever comes as another request ends finds its rank as it was",
          "[engine]") {
  Json scenario = alike_requests(2, 64);
  scenario["serving"]["replicas"][0]["parallelism"] = {{"pipeline", 2}, {"attention_data", 2}, {"expert", 2}};
  scenario["workload"]["arrivals"] = {{"kind", "closed_loop"}, {"concurrency", 16}};
  CHECK(last_end(test::run(scenario)) > 0);
}

TEST_CASE("attention data: requests go to the rank with the fewest", "[engine]") {
  // With room for two requests a rank, eight run at once on four ranks, and nine do not.
  Json scenario = alike_requests(4, 8);
  scenario["serving"]["replicas"][0]["batching"] = {{"max_batch_requests", 2}};
  const auto last_start = [](const Outcome& o) {
    double last = 0;
    for (const RequestRecord& r : o.requests) last = std::max(last, r.scheduled.value());
    return last;
  };
  CHECK(last_start(test::run(scenario)) == 0);
  scenario["workload"]["requests"]["count"] = 9;
  CHECK(last_start(test::run(scenario)) > 0);
}

TEST_CASE("attention data: prompts that begin together hold up decodes less often, and wait", "[engine]") {
  Json scenario = alike_requests(4, 64);
  scenario["workload"]["arrivals"] = {{"kind", "poisson"}, {"rate_per_s", 200}};
  const auto means = [&](int interval) {
    scenario["serving"]["replicas"][0]["engine"]["prefill_schedule_interval"] = interval;
    const Outcome o = test::run(scenario);
    REQUIRE(o.error == "");
    std::pair<double, double> sums{0, 0};
    for (const RequestRecord& r : o.requests) {
      sums.first += (r.first_token - r.request.arrival).value();
      sums.second += (r.finished - r.first_token).value();
    }
    return sums;
  };
  const auto [ttft, decoding] = means(1);
  const auto [ttft_aligned, decoding_aligned] = means(16);
  CHECK(ttft_aligned > ttft);
  CHECK(decoding_aligned < decoding);
}

TEST_CASE("two-batch overlap: no token is lost, and what is exchanged goes under the other half's kernels",
          "[engine]") {
  Json scenario = alike_requests(8, 2048);
  scenario["cluster"]["nodes"][0]["interconnect"] = {
      {"shape", "switch"}, {"bandwidth_gb_per_s", 20}, {"latency_us", 3}};
  const double one = last_end(test::run(scenario));
  scenario["serving"]["replicas"][0]["engine"]["two_batch_overlap"] = true;
  CHECK(last_end(test::run(scenario)) < 0.95 * one);
}

TEST_CASE("attention data: collectives played as flows agree with the closed form on an idle network",
          "[engine]") {
  for (const int tensor : {1, 2}) {
    Json scenario = alike_requests(4, 8);
    scenario["cluster"]["nodes"][0]["interconnect"] = {
        {"shape", "switch"}, {"bandwidth_gb_per_s", 200}, {"latency_us", 3}};
    scenario["serving"]["replicas"][0]["parallelism"] = {
        {"tensor", tensor}, {"attention_data", 4}, {"expert", 4 * tensor}};
    const Outcome closed = test::run(scenario);
    scenario["collectives"] = "flows";
    const Outcome flows = test::run(scenario);
    CHECK(last_end(flows) == Approx(last_end(closed)).epsilon(1e-3));
    CHECK(flows.busy == Approx(closed.busy).epsilon(1e-3));
  }
}
