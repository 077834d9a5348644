// NPUs with KV caches in several channels, simulated whole: the laws, prompts handed over, pipelines.
#include <catch2/catch.hpp>

#include "sim/step/step_model.h"
#include "test/serving/random_scenario.h"

using namespace weir;
using test::Outcome;
using test::random_npu_scenario;

namespace {

Json fixed(int count, int input, int output) {
  return {
      {"requests", {{"kind", "fixed"}, {"count", count}, {"input_tokens", input}, {"output_tokens", output}}},
      {"arrivals", {{"kind", "all_at_once"}}}};
}

// Prompts on an NPU without PIM, the rest on a NeuPIMs device.
Json handed_over(double link_gb_per_s) {
  Json s = random_npu_scenario(0, true);
  s["cluster"]["nodes"][0]["interconnect"]["bandwidth_gb_per_s"] = link_gb_per_s;
  const Json ideal = {{"kind", "ideal"}};
  s["serving"]["replicas"] = {{{"role", "prefill"},
                               {"device", "npu_only"},
                               {"engine", ideal},
                               {"partitioning", {{"kind", "npu_units"}}}},
                              {{"role", "decode"},
                               {"device", "neupims_npu"},
                               {"engine", ideal},
                               {"partitioning", {{"kind", "npu_pim"}}}}};
  return s;
}

double seconds(const RequestRecord& r) {
  return (r.finished - r.first_token).value();
}

}  // namespace

TEST_CASE("npus: requests, tokens and blocks are conserved, whatever the placement, interleaving and role",
          "[engine]") {
  double preemptions = 0;
  int rejected = 0, completed = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    const Json scenario = random_npu_scenario(seed, seed % 2 == 0);
    const Outcome outcome = test::run(scenario);
    test::check_laws(scenario, outcome);
    preemptions += outcome.preemptions;
    for (const RequestRecord& r : outcome.requests)
      ++(r.status == RequestStatus::rejected ? rejected : completed);
  }
  CHECK(preemptions > 25);
  CHECK(rejected > 25);
  CHECK(completed > rejected);
}

TEST_CASE("npus: fast-forward gives every request the times of stepping one by one", "[engine]") {
  for (unsigned seed = 100; seed < 115; ++seed) {
    Json scenario = random_npu_scenario(seed, seed % 4 != 0);
    const Outcome fast = test::run(scenario);
    scenario["fast_forward"] = false;
    INFO(scenario.dump());
    test::check_same(fast, test::run(scenario));
  }
}

TEST_CASE("npus: the same scenario and seed give the same bits", "[engine]") {
  for (unsigned seed = 200; seed < 203; ++seed) test::check_same_bits(random_npu_scenario(seed, false));
}

TEST_CASE("npus: a request handed over waits for its KV to cross the link, then decodes step by step",
          "[engine]") {
  Json json = handed_over(50);
  json["workload"] = fixed(1, 700, 3);
  const Plan plan = read_plan(json, "test.json");
  const ReplicaPlan& decoding = plan.replicas[1];
  const StepModel model(decoding.rank, decoding.stages[0], false);
  const auto step = [&](std::int64_t context) {
    const DecodeContext at{context, 0};
    BatchShape shape;
    shape.decodes = shape.sequences = 1;
    shape.decode_context_sum = shape.decode_context_max = context;
    shape.contexts = {&at, 1};
    return model.step({shape}).time.value();
  };
  const double bytes = 700. * 2 * 32 * 4096 * 2;  // keys and values of 32 layers, FP16
  const Outcome outcome = test::run(json);
  REQUIRE(outcome.error == "");
  const double decodes = step(701) + step(702);
  CHECK(outcome.most_carried == Approx(bytes));
  CHECK(seconds(outcome.requests[0]) == Approx(bytes / 50e9 + decodes).epsilon(1e-3));
  json["cluster"]["nodes"][0]["interconnect"]["bandwidth_gb_per_s"] = 5;
  const Outcome slow = test::run(json);
  CHECK(seconds(slow.requests[0]) == Approx(bytes / 5e9 + decodes).epsilon(1e-3));
  CHECK(slow.requests[0].first_token == outcome.requests[0].first_token);
}

TEST_CASE("npus: what is handed over crosses the link once, and no first token waits for it", "[engine]") {
  const Json json = handed_over(50);
  const Outcome fast = test::run(json), slow = test::run(handed_over(2));
  REQUIRE(fast.error + slow.error == "");
  double bytes = 0;
  for (std::size_t i = 0; i < fast.requests.size(); ++i) {
    const RequestRecord &a = fast.requests[i], &b = slow.requests[i];
    CHECK(a.first_token == b.first_token);
    if (a.status == RequestStatus::rejected || a.request.output_tokens == 1) continue;
    const double own = static_cast<double>(a.request.input_tokens) * 2 * 32 * 4096 * 2;
    CHECK(seconds(b) > own / 2e9);
    bytes += own;
  }
  CHECK(fast.most_carried == Approx(bytes));
  CHECK(slow.most_carried == Approx(bytes));
}

TEST_CASE("npus: the running requests share the pipeline evenly, in micro-batches that stay together",
          "[engine]") {
  for (const int stages : {2, 4})
    for (const char* interleave : {"on", "off", "best"}) {
      Json json = random_npu_scenario(0, true);
      json["serving"]["replicas"] = {
          {{"device", "neupims_npu"},
           {"engine", {{"kind", "ideal"}}},
           {"parallelism", {{"tensor", 1}, {"pipeline", stages}}},
           {"partitioning", {{"kind", "npu_pim"}}},
           {"placement", {{"kind", "greedy_min_load"}}},
           {"batching",
            {{"kind", "sub_batch_interleaving"}, {"max_batch_requests", 8}, {"interleave", interleave}}}}};
      json["workload"] = fixed(8, 200, 20);
      const Outcome outcome = test::run(json);
      INFO(stages << " stages, " << interleave);
      REQUIRE(outcome.error == "");
      CHECK(outcome.iterations == stages * 20);
      const int together = 8 / stages;
      for (int i = 0; i < 8; ++i)
        CHECK(outcome.requests[static_cast<std::size_t>(i)].finished ==
              outcome.requests[static_cast<std::size_t>(i / together * together)].finished);
    }
}
