// NPUs with a cache that software fills, served on from end to end.
#include <catch2/catch.hpp>

#include "test/engine/run_in_child.h"

namespace weir::test {

TEST_CASE("L2 NPUs: device_only serves a model on eight of them, and nothing runs on the prefetch stream",
          "[engine]") {
  for (const char* kind : {"ascend_910b", "l2_npu"}) {
    Json scenario = small_scenario();
    scenario["precision"] = {{"weights", "int8"}, {"activations", "int8"}, {"kv_cache", "int8"}};
    scenario["cluster"]["nodes"] = {
        {{"devices", {{{"kind", kind}, {"count", 8}}}}, {"interconnect", "hccs_mesh"}}};
    scenario["serving"]["replicas"] = Json::array({{{"parallelism", {{"tensor", 8}}}}});
    const Outcome served = run(scenario);
    CAPTURE(kind);
    REQUIRE(served.error == "");
    CHECK(served.requests.size() > 0);
    for (const RequestRecord& r : served.requests) CHECK(r.status == RequestStatus::completed);
    scenario["cluster"]["nodes"][0]["devices"][0]["memory_bandwidth_gb_per_s"] = 800;
    CHECK(run(scenario).end >= served.end);
    scenario["fast_forward"] = false;
    const Outcome stepped = run(scenario);
    scenario["fast_forward"] = true;
    CHECK(run(scenario).end == Approx(stepped.end).epsilon(1e-9));
  }
}

TEST_CASE("L2 NPUs: runs of steps with prefetches end when they do step by step", "[engine]") {
  Json scenario = small_scenario();
  scenario["precision"] = {{"weights", "int8"}, {"activations", "int8"}, {"kv_cache", "int8"}};
  scenario["cluster"]["nodes"] = {
      {{"devices", {{{"kind", "l2_npu"}, {"count", 8}, {"l2_mb", 20}}}}, {"interconnect", "hccs_mesh"}}};
  for (const char* batching : {"chunked_prefill", "orca", "static"}) {
    CAPTURE(batching);
    scenario["serving"]["replicas"] =
        Json::array({{{"parallelism", {{"tensor", 8}}},
                      {"batching", {{"kind", batching}, {"max_batch_requests", 16}}},
                      {"prefetch", {{"kind", "preserve"}}}}});
    scenario["fast_forward"] = false;
    const Outcome stepped = run(scenario);
    scenario["fast_forward"] = true;
    const Outcome fast = run(scenario);
    REQUIRE(stepped.error == "");
    CHECK(fast.end == Approx(stepped.end).epsilon(1e-9));
    REQUIRE(fast.requests.size() == stepped.requests.size());
    for (std::size_t i = 0; i < fast.requests.size(); ++i)
      CHECK(fast.requests[i].finished.value() == Approx(stepped.requests[i].finished.value()).epsilon(1e-9));
  }
}

TEST_CASE("L2 NPUs: the paper's assumptions leave out what is before and after the layers", "[engine]") {
  Json scenario = small_scenario();
  scenario["cluster"]["nodes"] = {
      {{"devices", {{{"kind", "l2_npu"}, {"count", 2}}}}, {"interconnect", "hccs_mesh"}}};
  scenario["serving"]["replicas"] =
      Json::array({{{"parallelism", {{"tensor", 2}}}, {"engine", {{"kind", "ideal"}}}}});
  const double all = run(scenario).end;
  scenario["assumptions"] = "paper";
  const double layers = run(scenario).end;
  CHECK(layers < all);
  CHECK(layers > 0.5 * all);
}

}  // namespace weir::test
