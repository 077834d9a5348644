// Joules of runs: idle while nothing runs, and steps under a limit that binds.
#include <catch2/catch.hpp>

#include "sim/studies/validation/kernels.h"
#include "test/serving/random_scenario.h"

using namespace weir;
using test::Outcome;

namespace {

Json limited(Json scenario, double watts) {
  for (Json& node : scenario["cluster"]["nodes"])
    for (Json& device : node["devices"]) device["tdp_w"] = watts;
  return scenario;
}

Json busy_server() {
  Json scenario = test::small_scenario();
  scenario["workload"]["requests"]["count"] = 200;
  scenario["workload"]["arrivals"] = {{"kind", "closed_loop"}, {"concurrency", 100}};
  return scenario;
}

Outcome two_requests(Json scenario, double gap) {
  scenario["workload"]["requests"] = {
      {"kind", "fixed"}, {"count", 2}, {"input_tokens", 100}, {"output_tokens", 20}};
  scenario["workload"]["arrivals"] = {{"kind", "constant"}, {"rate_per_s", 1 / gap}};
  return test::run(scenario);
}

}  // namespace

TEST_CASE("energy: a device that waits for the next request draws its idle watts", "[engine]") {
  const Outcome close = two_requests(test::small_scenario(), 10),
                far = two_requests(test::small_scenario(), 110);
  REQUIRE(close.error + far.error == "");
  const double idle = catalog_device("h100_sxm")->spec().power.idle.value();
  CHECK(far.end - close.end == Approx(100));
  CHECK(far.energy - close.energy == Approx(100 * idle));
  CHECK(close.energy > 10 * idle);
}

TEST_CASE("energy: every device of every stage, rank and replica draws its idle watts", "[engine]") {
  Json scenario = test::small_scenario();
  scenario["serving"]["replicas"] = {{{"count", 2}, {"parallelism", {{"tensor", 2}, {"pipeline", 1}}}},
                                     {{"count", 1}, {"parallelism", {{"tensor", 1}, {"pipeline", 3}}}}};
  const Outcome close = two_requests(scenario, 10), far = two_requests(scenario, 110);
  REQUIRE(close.error + far.error == "");
  const double idle = catalog_device("h100_sxm")->spec().power.idle.value();
  // 2 x 2 and 3 of them; the eighth of the node serves none.
  CHECK(far.energy - close.energy == Approx(7 * 100 * idle));
}

TEST_CASE("energy: under a limit that binds runs are as step by step, and as with a device an actor",
          "[engine]") {
  for (const double watts : {320., 450.}) {
    INFO(watts);
    Json scenario = limited(busy_server(), watts);
    const Outcome fast = test::run(scenario);
    REQUIRE(fast.error == "");
    CHECK(fast.energy <= watts * fast.end * (1 + 1e-12));
    CHECK(fast.energy >= 0.9 * watts * fast.end);  // it binds
    scenario["fast_forward"] = false;
    test::check_same(fast, test::run(scenario));
    scenario["actors"] = "groups";
    CHECK(test::run(scenario).energy == Approx(fast.energy).epsilon(1e-9));
  }
}

TEST_CASE("energy: a lower limit never makes a server faster", "[engine]") {
  double before = 0;
  for (const double watts : {700., 550., 450., 380., 320.}) {
    const Outcome run = test::run(limited(busy_server(), watts));
    REQUIRE(run.error == "");
    CHECK(run.end >= before);
    before = run.end;
  }
}

TEST_CASE("energy: a limit that leaves nothing above what a device draws at rest is wrong", "[engine]") {
  const auto error = [](double watts) { return test::run(limited(test::small_scenario(), watts)).error; };
  CHECK_THAT(error(190),
             Catch::Contains("/cluster/nodes/0/devices/0/idle_w: more than tdp_w, with active_w"));
  CHECK(error(300) == "");
}
