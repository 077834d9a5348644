// The grid of a sweep file: which points it has, in which order.
#include <catch2/catch.hpp>

#include "test/app/sweep/sweep_files.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("sweep: the grid is every value with every other in the file's order, the last axis fastest") {
  const Sweep sweep = swept(with(R"({"vary": {
    "/workload/arrivals/rate_per_s": [1, 2, 3], "/serving/replicas/0/count": [1, 2]}})"));
  CHECK(sweep.varied == std::vector<std::string>{rate, replicas});
  CHECK(values_of(sweep, rate) == Json({1, 1, 2, 2, 3, 3}));
  CHECK(values_of(sweep, replicas) == Json({1, 2, 1, 2, 1, 2}));
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    CHECK(sweep.points[i].index == static_cast<std::int64_t>(i));
    for (const auto& [pointer, value] : sweep.points[i].varied)
      CHECK(scenario_of(sweep, sweep.points[i])[Json::json_pointer(pointer)] == value);
  }
}

TEST_CASE("sweep: zipped lists go together, one axis an object") {
  const Sweep sweep = swept(with(R"({"vary": {"/workload/arrivals/rate_per_s": [1, 2]}, "zip": [{
    "/serving/replicas/0/parallelism/tensor": [1, 2, 4], "/serving/replicas/0/count": [8, 4, 2]}]})"));
  CHECK(values_of(sweep, rate) == Json({1, 1, 1, 2, 2, 2}));
  CHECK(values_of(sweep, tensor) == Json({1, 2, 4, 1, 2, 4}));
  CHECK(values_of(sweep, replicas) == Json({8, 4, 2, 8, 4, 2}));
}

TEST_CASE("sweep: linear and log ranges hold both ends, and whole numbers stay whole") {
  const Sweep linear =
      swept(with(R"({"vary": {"/workload/arrivals/rate_per_s": {"from": 1, "to": 3, "steps": 5}}})"));
  CHECK(values_of(linear, rate) == Json({1, 1.5, 2, 2.5, 3}));
  const Sweep log = swept(with(R"({"vary": {"/serving/replicas/0/batching/max_batch_tokens":
    {"from": 256, "to": 8192, "steps": 6, "scale": "log"}}})"));
  CHECK(values_of(log, "/serving/replicas/0/batching/max_batch_tokens") ==
        Json({256, 512, 1024, 2048, 4096, 8192}));
}

TEST_CASE("sweep: a number of seeds counts on from the scenario's own, a list is taken as it is") {
  Json scenario = small_scenario();
  scenario["seed"] = 7;
  const Sweep three =
      swept(with(R"({"vary": {"/workload/arrivals/rate_per_s": [1, 2]}, "seeds": 3})", scenario));
  CHECK(values_of(three, "/seed") == Json({7, 8, 9, 7, 8, 9}));
  CHECK(three.varied.back() == "/seed");
  CHECK(values_of(swept(with(R"({"seeds": [0, 11]})", scenario)), "/seed") == Json({0, 11}));
}

TEST_CASE("sweep: constraints keep the points for which they hold, and say how many they do not") {
  const Sweep sweep = swept(with(R"({
    "vary": {"/serving/replicas/0/parallelism/tensor": [1, 2, 4, 8], "/serving/replicas/0/parallelism/pipeline": [1, 2],
             "/serving/replicas/0/count": [1, 2, 4, 8]},
    "where": ["tensor * pipeline * replicas == devices", "tensor <= 4 && count % 2 == 0"]})"));
  REQUIRE_FALSE(sweep.points.empty());
  std::set<std::vector<int>> found, expected;
  for (const Point& p : sweep.points) found.insert(layout_of(sweep, p));
  for (const int t : {1, 2, 4, 8})
    for (const int p : {1, 2})
      for (const int r : {1, 2, 4, 8})
        if (t * p * r == 8 && t <= 4 && r % 2 == 0) expected.insert({t, p, r});
  CHECK(found == expected);
  REQUIRE(sweep.left_out.size() == 2);
  CHECK(sweep.left_out[0].why == "where tensor * pipeline * replicas == devices");
  CHECK(std::stoul(sweep.left_out[0].what) + std::stoul(sweep.left_out[1].what) + sweep.points.size() == 32);
}
