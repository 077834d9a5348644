#include "test/engine/random_scenario.h"

#include <catch2/catch.hpp>
#include <random>

namespace weir::test {
namespace {

using Random = std::mt19937;

template <class T>
T pick(Random& random, std::initializer_list<T> from) {
  return *(from.begin() + std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random));
}

}  // namespace

Json random_scenario(unsigned seed, bool one_stage) {
  Random random(seed);
  Json s = small_scenario();
  s["seed"] = seed;
  Json replica = Json::object();
  const std::string batching =
      pick<std::string>(random, {"static", "orca", "prefill_first", "chunked_prefill"});
  replica["batching"] = {{"kind", batching}, {"max_batch_requests", pick(random, {4, 16, 64})}};
  if (batching == "chunked_prefill") replica["batching"]["max_batch_tokens"] = pick(random, {64, 512, 2048});
  if (batching == "prefill_first") replica["batching"]["max_batch_tokens"] = 8192;
  replica["kv_cache"] = {{"blocks", pick(random, {320, 600, 20000})},
                         {"admission", pick<std::string>(random, {"chunk", "prompt", "sequence"})},
                         {"preemption", pick<std::string>(random, {"recompute", "swap"})},
                         {"prefix_caching", pick(random, {true, false})}};
  replica["parallelism"] = {{"tensor", pick(random, {1, 2})},
                            {"pipeline", one_stage ? 1 : pick(random, {2, 4})}};
  replica["engine"] = {{"kind", pick<std::string>(random, {"vllm_v1", "vllm_v0", "ideal", "trtllm"})}};
  s["serving"]["routing"] = {
      {"kind", pick<std::string>(random, {"round_robin", "least_outstanding", "join_shortest_queue"})}};
  const int shape = pick(random, {0, 0, 1, 2});
  if (shape == 1 && one_stage) replica["count"] = 2;
  Json replicas = Json::array({replica});
  if (shape == 2 && one_stage) {
    replicas.push_back(replica);
    replicas[0]["role"] = "prefill";
    replicas[1]["role"] = "decode";
  }
  s["serving"]["replicas"] = replicas;
  s["workload"]["arrivals"] = pick<Json>(
      random, {Json{{"kind", "poisson"}, {"rate_per_s", 15}}, Json{{"kind", "poisson"}, {"rate_per_s", 200}},
               Json{{"kind", "all_at_once"}}, Json{{"kind", "closed_loop"}, {"concurrency", 7}},
               Json{{"kind", "gamma"}, {"rate_per_s", 30}, {"cv", 3}}});
  return s;
}

void check_laws(const Json& scenario, const Outcome& o) {
  INFO(scenario.dump());
  REQUIRE(o.error == "");
  CHECK(o.requests.size() == scenario["workload"]["requests"]["count"].get<std::size_t>());
  double tokens = 0, gaps = 0;
  for (const RequestRecord& r : o.requests) {
    REQUIRE(r.status != RequestStatus::unfinished);
    if (r.status == RequestStatus::rejected) {
      CHECK(r.first_token < Seconds(0));
      continue;
    }
    CHECK(r.scheduled >= r.request.arrival);  // no effect before its cause
    CHECK(r.first_token > r.scheduled);
    CHECK((r.request.output_tokens == 1 ? r.finished == r.first_token : r.finished > r.first_token));
    tokens += static_cast<double>(r.request.output_tokens);
    gaps += static_cast<double>(r.request.output_tokens - 1);
  }
  CHECK(o.gap_count == Approx(gaps));  // every token came out once
  CHECK(o.sampled_tokens == Approx(tokens));
  CHECK(o.peak_blocks <= o.total_blocks);
  CHECK(o.energy >= 0);  // nothing, where every request was rejected
  CHECK((o.energy > 0) == (tokens > 0));
}

}  // namespace weir::test
