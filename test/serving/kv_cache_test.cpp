#include <catch2/catch.hpp>

#include "test/serving/run_in_child.h"

using namespace weir;

TEST_CASE("kv cache: a preempted request computes again only what others overwrote", "[engine]") {
  Json scenario = test::small_scenario();
  scenario["workload"]["requests"] = {
      {"kind", "fixed"}, {"count", 40}, {"input_tokens", 600}, {"output_tokens", 300}};
  scenario["workload"]["arrivals"] = {{"kind", "all_at_once"}};
  auto& cache = scenario["serving"]["replicas"][0]["kv_cache"];
  cache["blocks"] = 400;
  const test::Outcome with = test::run(scenario);
  cache["prefix_caching"] = false;
  const test::Outcome without = test::run(scenario);
  REQUIRE(with.error == "");
  REQUIRE(with.preemptions > 0);
  CHECK(with.flops < without.flops);
  CHECK(with.end < without.end);
}
