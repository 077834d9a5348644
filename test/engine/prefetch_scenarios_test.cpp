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

}  // namespace weir::test
