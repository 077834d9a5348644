// A run in which requests give way to each other for ever says so, and ends.
#include <catch2/catch.hpp>

#include "policies/batching/batching.h"
#include "test/serving/random_scenario.h"

using namespace weir;
using test::Outcome;

namespace {

// The first chunk of a prompt, and then it is swapped out and in.
class GivingWay final : public BatchingPolicy {
 public:
  explicit GivingWay(std::int64_t times) : times_(times) {}
  void next(const ServingView& view, Batch& batch) const override {
    if (view.running.empty()) {
      if (view.waiting.empty()) return;
      const SequenceView& first = view.waiting[0];
      batch.admitted.push_back(first.request);
      batch.slices.push_back(
          {first.request, first.elsewhere ? 1 : std::min<std::int64_t>(16, first.pending())});
      return;
    }
    const SequenceView& first = view.running[0];
    if (first.in_flight) return;
    if (given_way_ == times_) return batch.slices.push_back({first.request, first.pending()});
    ++given_way_;
    batch.preempted.push_back(first.request);
  }
  bool serves(const Request&, std::int64_t, std::int64_t) const override { return true; }
  std::int64_t max_batch_requests() const override { return 1; }
  std::int64_t max_batch_tokens() const override { return 8192; }

 private:
  std::int64_t times_;
  mutable std::int64_t given_way_ = 0;
};

Outcome giving_way(std::int64_t times, bool fast_forward, Json arrivals = {{"kind", "all_at_once"}}) {
  Json s = test::small_scenario();
  s["serving"]["replicas"][0]["kv_cache"] = {{"preemption", "swap"}};
  s["workload"]["requests"] = {{"kind", "fixed"}, {"count", 2}, {"input_tokens", 64}, {"output_tokens", 2}};
  s["workload"]["arrivals"] = std::move(arrivals);
  s["fast_forward"] = fast_forward;
  return test::run(s,
                   [&](Plan& plan) { plan.replicas[0].spec.batching = std::make_shared<GivingWay>(times); });
}

// Small caches on both sides: prompts that are computed wait for room that others have reserved.
Json layerwise(int seed) {
  Json s = test::small_scenario();
  s["seed"] = seed;
  s["cluster"]["nodes"][0]["devices"][0]["count"] = 2;
  Json prompts = {
      {"role", "prefill"}, {"engine", {{"kind", "ideal"}}}, {"batching", {{"max_batch_tokens", 2048}}}};
  prompts["kv_cache"] = {{"block_tokens", 16},
                         {"blocks", 250},
                         {"prefix_caching", false},
                         {"preemption", "swap"},
                         {"handover", "layerwise"}};
  Json decodes = {{"role", "decode"}, {"engine", {{"kind", "ideal"}}}};
  decodes["kv_cache"] = {
      {"block_tokens", 16}, {"blocks", 250}, {"prefix_caching", false}, {"admission", "sequence"}};
  s["serving"]["replicas"] = {prompts, decodes};
  s["workload"]["requests"] = {{"kind", "lognormal"},
                               {"count", 20},
                               {"input", {{"mean", 900}, {"std", 700}, {"max", 3000}}},
                               {"output", {{"mean", 200}, {"std", 60}, {"max", 600}}}};
  s["workload"]["arrivals"] = {{"kind", "poisson"}, {"rate_per_s", 100}};
  return s;
}

}  // namespace

TEST_CASE("standstill: requests that preempt each other for ever end the run, and the error says who",
          "[engine]") {
  for (const bool fast_forward : {true, false}) {
    const std::string error = giving_way(-1, fast_forward).error;
    INFO(error);
    CHECK(error.find("requests preempt each other for ever, and no step is computed") != std::string::npos);
    CHECK(error.find("replica 0 holds ") != std::string::npos);
    CHECK(error.find("has preempted requests 1") != std::string::npos);
  }
}

TEST_CASE("standstill: it is none while somebody is to come, or before a batch's worth of preemptions",
          "[engine]") {
  const auto ends = [](const Outcome& o) { return o.error == "" && o.requests[1].finished > Seconds(0); };
  CHECK(ends(giving_way(5'000, true)));
  // The second comes after a minute.
  CHECK(ends(giving_way(20'000, true, {{"kind", "constant"}, {"rate_per_s", 1. / 60}})));
}

TEST_CASE(
    "standstill: layer by layer, a preempted prompt gives its room on the next replica to those that are "
    "computed",
    "[engine]") {
  for (const int seed : {2, 9, 10})  // requests of the first two waited for each other for ever
    for (const char* preemption : {"swap", "recompute"}) {
      Json scenario = layerwise(seed);
      scenario["serving"]["replicas"][0]["kv_cache"]["preemption"] = preemption;
      INFO(scenario.dump());
      const Outcome fast = test::run(scenario);
      test::check_laws(scenario, fast);
      CHECK(fast.preemptions > 0);
      scenario["fast_forward"] = false;
      test::check_same(fast, test::run(scenario));
    }
}
