// Which way a metric is better: fronts, winners and "changed for the worse" all ask it.
#include "sim/app/results/metric.h"

#include <catch2/catch.hpp>
#include <set>

using namespace weir;

TEST_CASE("metrics: of the ranked ones more is better of rates and of tokens a joule alone") {
  const std::set<std::string> more = {"tokens_per_s_per_device", "tokens_per_s_per_mm2",
                                      "tokens_per_s_per_user",   "output_tokens_per_joule",
                                      "request_throughput",      "request_goodput",
                                      "output_throughput",       "total_token_throughput",
                                      "capacity_rate_per_s",     "training_0_samples_per_s"};
  std::set<std::string> seen;
  for (const std::string& name : ranked_metrics()) {
    INFO(name);
    CHECK(less_is_better(name) != more.contains(name));
    if (more.contains(name)) seen.insert(name);
  }
  CHECK(seen == more);
}

TEST_CASE("metrics: what a run lost or paid is better where it is less") {
  for (const char* name : {"failed", "rejected", "unfinished", "kv_cache_preemptions", "cost_device_hours",
                           "training_1_edp_js", "sessions_p90_time_to_complete_ms"}) {
    INFO(name);
    CHECK(less_is_better(name));
  }
  for (const char* name : {"completed", "speculative_acceptance_length", "prefix_cache_local_hit_tokens"}) {
    INFO(name);
    CHECK_FALSE(less_is_better(name));
  }
}

// Two points of {more is better, less is better} in their senses: neither beats the other; one that is worse
// in one and equal in the other is beaten, an equal one is not.
TEST_CASE("metrics: a front keeps what nothing beats, equal points too") {
  CHECK(non_dominated({{1, 5}, {2, 4}, {2, 5}, {1, 5}}) == std::vector<bool>{true, true, false, true});
}
