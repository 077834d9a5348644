#include <catch2/catch.hpp>

#include <algorithm>

#include "sim/step/step_model.h"
#include "test/serving/random_scenario.h"
#include "test/serving/run_in_child.h"

using namespace weir;
using weir::test::check_laws;
using weir::test::check_same;
using weir::test::Outcome;
using weir::test::random_scenario;
using weir::test::small_scenario;

namespace {

Json one_request(std::int64_t input_tokens, std::int64_t output_tokens) {
  Json scenario = small_scenario();
  scenario["workload"] = {
      {"requests",
       {{"kind", "fixed"}, {"count", 1}, {"input_tokens", input_tokens}, {"output_tokens", output_tokens}}},
      {"arrivals", {{"kind", "all_at_once"}}}};
  return scenario;
}

}  // namespace

TEST_CASE("simulation: requests, tokens and blocks are conserved, whatever the policy, layout and load",
          "[engine]") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Json scenario = random_scenario(seed, seed % 3 != 0);
    check_laws(scenario, test::run(scenario));
  }
}

TEST_CASE("simulation: fast-forward gives every request the times of stepping one by one", "[engine]") {
  for (unsigned seed = 100; seed < 160; ++seed) {
    Json scenario = random_scenario(seed, true);
    const Outcome fast = test::run(scenario);
    scenario["fast_forward"] = false;
    const Outcome slow = test::run(scenario);
    INFO(scenario.dump());
    check_same(fast, slow);
  }
}

TEST_CASE("simulation: the same scenario and seed give the same bits", "[engine]") {
  for (unsigned seed : {3u, 7u, 200u}) test::check_same_bits(random_scenario(seed, false));
}

TEST_CASE("simulation: a closed loop never has more requests in flight than its concurrency", "[engine]") {
  Json scenario = small_scenario();
  scenario["workload"]["arrivals"] = {{"kind", "closed_loop"}, {"concurrency", 5}};
  const Outcome o = test::run(scenario);
  REQUIRE(o.error == "");
  std::vector<std::pair<double, int>> changes;
  for (const RequestRecord& r : o.requests) {
    changes.emplace_back(r.request.arrival.value(), 1);
    changes.emplace_back(r.finished.value(), -1);
  }
  std::sort(changes.begin(), changes.end());  // a finish sorts before the arrival that it lets in
  int in_flight = 0, most = 0;
  for (const auto& [when, change] : changes) most = std::max(most, in_flight += change);
  CHECK(most == 5);
}

TEST_CASE("simulation: beyond max_in_flight requests wait at the client, and their clocks with them",
          "[engine]") {
  // One replica, requests of a length, so dense that each waits: with a bound of 1 they come one after
  // another, each with the time that it takes alone.
  const Outcome alone = test::run(one_request(300, 20));
  Json scenario = one_request(300, 20);
  scenario["workload"]["requests"]["count"] = 6;
  scenario["workload"]["arrivals"] = {{"kind", "constant"}, {"rate_per_s", 1e6}, {"max_in_flight", 1}};
  const Outcome o = test::run(scenario);
  REQUIRE(o.error == "");
  REQUIRE(o.requests.size() == 6);
  const auto taken = [](const RequestRecord& r) { return (r.finished - r.request.arrival).value(); };
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(taken(o.requests[i]) == Approx(taken(alone.requests[0])));
    if (i > 0) CHECK(o.requests[i].request.arrival.value() == Approx(o.requests[i - 1].finished.value()));
  }
  // A bound that is never reached changes nothing.
  scenario["workload"]["arrivals"] = {{"kind", "constant"}, {"rate_per_s", 50}};
  const Outcome free = test::run(scenario);
  scenario["workload"]["arrivals"]["max_in_flight"] = 6;
  test::check_same(test::run(scenario), free);
}

TEST_CASE("simulation: a client's bound ends where all requests are rejected", "[engine]") {
  Json scenario = one_request(1'000'000'000 / 16, 20);
  scenario["workload"]["requests"]["count"] = 2000;
  scenario["workload"]["arrivals"] = {{"kind", "all_at_once"}, {"max_in_flight", 1}};
  const Outcome o = test::run(scenario);
  CHECK(o.error == "");
  for (const RequestRecord& r : o.requests) CHECK(r.status == RequestStatus::rejected);
}

TEST_CASE("simulation: one request alone takes its prefill and its decode steps, one after another",
          "[engine]") {
  Json scenario = one_request(100, 50);
  scenario["serving"]["replicas"][0]["engine"] = {{"kind", "ideal"}};
  const Outcome o = test::run(scenario);
  REQUIRE(o.error == "");
  CHECK(o.iterations == 50);
  // Oracle: the weights are read once a step, no faster than the memory allows (8.03e9 parameters, 16 bit,
  // less the embedding table, 3.35 TB/s), and a step is not twice as slow as that.
  const double floor = (8.03e9 - 0.525e9) * 2 / 3.35e12;
  const double tpot = (o.requests[0].finished - o.requests[0].first_token).value() / 49;
  CHECK(tpot > floor);
  CHECK(tpot < 2 * floor);
}

// Four stages of the same time each: pipelined, n chunks take n + 3 of them, one after another 4 n.
TEST_CASE("simulation: chunks of a prompt follow each other into the pipeline, or wait for each other",
          "[engine]") {
  Json scenario = one_request(8192, 1);
  auto& replica = scenario["serving"]["replicas"][0];
  replica["parallelism"] = {{"pipeline", 4}};
  replica["batching"] = {{"kind", "chunked_prefill"}, {"max_batch_tokens", 512}};
  const auto first_token = [&](bool pipelined) {
    replica["engine"] = {{"kind", "ideal"}, {"pipelined_chunks", pipelined}};
    const Outcome o = test::run(scenario);
    REQUIRE(o.error == "");
    return o.requests[0].first_token.value();
  };
  CHECK(first_token(false) / first_token(true) == Approx(4. * 16 / (16 + 3)).epsilon(0.05));
}

TEST_CASE("simulation: a request that can never fit is rejected, and the others go on", "[engine]") {
  Json scenario = small_scenario();
  scenario["serving"]["replicas"][0]["max_model_len"] = 400;
  const Outcome o = test::run(scenario);
  REQUIRE(o.error == "");
  int rejected = 0;
  for (const RequestRecord& r : o.requests) {
    const bool too_long = r.request.input_tokens + r.request.output_tokens > 400;
    CHECK((r.status == RequestStatus::rejected) == too_long);
    rejected += too_long;
  }
  CHECK(rejected > 0);
  CHECK(rejected < static_cast<int>(o.requests.size()));
}

TEST_CASE("simulation: a prompt of one token more needs no room where others decode", "[engine]") {
  Json scenario = small_scenario();
  scenario["cluster"]["nodes"][0]["devices"][0]["count"] = 2;
  scenario["cluster"]["nodes"][0]["interconnect"] = "nvlink4_switch";
  scenario["serving"]["replicas"] = {{{"role", "prefill"}}, {{"role", "decode"}, {"max_model_len", 300}}};
  for (const int output : {1, 2}) {
    scenario["workload"]["requests"] = {
        {"kind", "fixed"}, {"count", 3}, {"input_tokens", 400}, {"output_tokens", output}};
    const Outcome o = test::run(scenario);
    REQUIRE(o.error == "");
    for (const RequestRecord& r : o.requests)
      CHECK(r.status == (output == 1 ? RequestStatus::completed : RequestStatus::rejected));
  }
}

TEST_CASE("simulation: a closed loop whose requests are all rejected ends", "[engine]") {
  Json scenario = small_scenario();
  scenario["serving"]["replicas"][0]["max_model_len"] = 1;
  scenario["workload"]["requests"]["count"] = 20000;
  scenario["workload"]["arrivals"] = {{"kind", "closed_loop"}, {"concurrency", 5}};
  const Outcome o = test::run(scenario);
  CHECK(o.error == "");
  CHECK(o.iterations == 0);
}

TEST_CASE("simulation: a time limit leaves the rest unfinished", "[engine]") {
  Json scenario = small_scenario();
  scenario["simulated_time_limit_s"] = 1.0;
  const Outcome o = test::run(scenario);
  REQUIRE(o.error == "");
  CHECK(o.end == Approx(1.0));
  const auto unfinished = std::count_if(o.requests.begin(), o.requests.end(), [](const RequestRecord& r) {
    return r.status == RequestStatus::unfinished;
  });
  CHECK(unfinished > 0);
  CHECK(unfinished < static_cast<std::ptrdiff_t>(o.requests.size()));
}

TEST_CASE("simulation: a time limit at the end of a run of steps counts them once", "[engine]") {
  Json scenario = one_request(100, 50);
  const Outcome whole = test::run(scenario);
  for (const double off : {-5e-10, 0., 5e-10}) {
    scenario["simulated_time_limit_s"] = whole.end + off;
    const Outcome cut = test::run(scenario);
    INFO(off);
    REQUIRE(cut.error == "");
    CHECK(cut.iterations <= whole.iterations);
    CHECK(cut.iterations >= whole.iterations - 1);
    CHECK(cut.energy <= whole.energy * (1 + 1e-9));
  }
}

TEST_CASE("simulation: alike replicas need alike machines", "[engine]") {
  Json scenario = small_scenario();
  const auto node = [](Json device, const char* interconnect) {
    return Json{{"devices", Json::array({std::move(device)})}, {"interconnect", interconnect}};
  };
  const Json h100 = {{"kind", "h100_sxm"}};
  scenario["serving"]["replicas"][0]["count"] = 2;
  const auto error = [&](const Json& second) {
    scenario["cluster"]["nodes"] = Json::array({node(h100, "nvlink4_switch"), second});
    return test::run(scenario).error;
  };
  CHECK(error(node(h100, "nvlink4_switch")) == "");
  CHECK_THAT(error(node({{"kind", "rtx4090"}}, "nvlink4_switch")), Catch::Contains("other devices"));
  CHECK_THAT(error(node({{"kind", "h100_sxm"}, {"tdp_w", 500}}, "nvlink4_switch")),
             Catch::Contains("other devices"));
  CHECK_THAT(error(node(h100, "pcie5_x16")), Catch::Contains("another interconnect"));
}

TEST_CASE("simulation: a warm batch decodes from its first step, at the contexts that it stands at",
          "[engine]") {
  Json json = small_scenario();
  json["workload"] = {
      {"requests", {{"kind", "fixed"}, {"count", 1}, {"input_tokens", 700}, {"output_tokens", 2}}},
      {"arrivals", {{"kind", "warm_batch"}, {"concurrency", 40}, {"batches", 3}, {"steps", 2}}}};
  const Plan plan = read_plan(json, "warm");
  const StepModel model(plan.replicas[0].rank, plan.replicas[0].stages[0], false);
  const auto step = [&](std::int64_t context) {
    BatchShape shape;
    shape.decodes = shape.sequences = 40;
    shape.decode_context_sum = 40 * context;
    shape.decode_context_max = context;
    return model.step({shape}).time.value();
  };
  const Outcome outcome = test::run(json);
  REQUIRE(outcome.error == "");
  CHECK(outcome.iterations == 6);
  REQUIRE(outcome.requests.size() == 120);
  for (const RequestRecord& r : outcome.requests) {
    CHECK((r.first_token - r.request.arrival).value() == Approx(step(701)));
    CHECK((r.finished - r.first_token).value() == Approx(step(702)));
  }
  CHECK(outcome.end == Approx(3 * (step(701) + step(702))));
}
