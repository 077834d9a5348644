// Devices with a cache that software fills, served on from end to end.
#include <catch2/catch.hpp>

#include "test/serving/run_in_child.h"

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

TEST_CASE(
    "prefetch: over whole runs every byte fetched is used, evicted or left, and reads add up to the needs",
    "[engine]") {
  struct Case {
    const char *device, *interconnect, *model;
    int tensor, pipeline;
    Json batching;
    int l2_mb = 0;  // 0: the device's
  };
  const Json int8 = {{"weights", "int8"}, {"activations", "int8"}, {"kv_cache", "int8"}};
  const Json orca = {{"kind", "orca"}, {"max_batch_requests", 16}},
             chunked = {{"kind", "chunked_prefill"}, {"max_batch_tokens", 512}},
             fixed = {{"kind", "static"}, {"max_batch_requests", 8}},
             prefill_first = {{"kind", "prefill_first"}},
             interleaved = {{"kind", "sub_batch_interleaving"}, {"interleave", "on"}};
  const Case cases[] = {
      {"l2_npu", "hccs_mesh", "llama3-8b", 8, 1, orca},
      {"l2_npu", "hccs_mesh", "llama3-8b", 4, 2, chunked},
      {"l2_npu", "hccs_mesh", "llama3-8b", 4, 1, fixed},
      {"l2_npu", "hccs_mesh", "llama3-8b", 8, 1, interleaved},
      {"l2_npu", "hccs_mesh", "mixtral-8x7b", 2, 2, interleaved},
      {"l2_npu", "hccs_mesh", "mixtral-8x7b", 8, 1, prefill_first, 200},
      {"h200_sxm", "nvlink4_switch", "llama3-8b", 8, 1, chunked},
      {"h200_sxm", "nvlink4_switch", "llama3-8b", 2, 2, orca},
      {"h100_sxm", "nvlink4_switch", "mixtral-8x7b", 4, 2, interleaved, 2000},
      {"a100_sxm_80gb", "nvlink3_switch", "mixtral-8x7b", 8, 1, chunked, 400},
      {"l40s", "pcie4_x16", "llama3-8b", 4, 1, fixed},
  };
  for (const Case& c : cases) {
    // All at once: then no batch depends on how long a step takes.
    Json scenario = small_scenario();
    scenario["model"] = c.model;
    if (std::string(c.device) == "l2_npu") scenario["precision"] = int8;
    scenario["cluster"]["nodes"] = {
        {{"devices", {{{"kind", c.device}, {"count", 8}}}}, {"interconnect", c.interconnect}}};
    scenario["serving"]["replicas"] =
        Json::array({{{"parallelism", {{"tensor", c.tensor}, {"pipeline", c.pipeline}}},
                      {"batching", c.batching},
                      {"prefetch", {{"kind", "none"}}}}});
    scenario["workload"]["arrivals"] = {{"kind", "all_at_once"}};
    if (c.l2_mb > 0) scenario["cluster"]["nodes"][0]["devices"][0]["l2_mb"] = c.l2_mb;
    const Outcome none = run(scenario);
    scenario["serving"]["replicas"][0]["prefetch"] = {{"kind", "preserve"}};
    const Outcome with = run(scenario);
    CAPTURE(c.device, c.model, c.tensor, c.pipeline, c.batching.dump());
    REQUIRE(none.error + with.error == "");
    CHECK(none.fetched == 0);
    CHECK(with.fetched > 0);
    CHECK(with.used > 0);
    CHECK(with.evicted == 0);  // Algorithm 1 stops short of the capacity
    // Experts that no token was routed to, where a layer's fit; what is dense is read whole.
    CHECK((with.left > 1e-9 * with.fetched) == (c.l2_mb > 0));
    CHECK(with.used + with.evicted + with.left == Approx(with.fetched).epsilon(1e-9));
    REQUIRE(with.iterations == none.iterations);
    CHECK(with.memory - with.fetched + with.used == Approx(none.memory).epsilon(1e-9));
    CHECK(with.flops == Approx(none.flops).epsilon(1e-9));
    scenario["serving"]["replicas"][0]["prefetch"] = {{"kind", "oracle"}};
    const Outcome best = run(scenario);
    if (c.batching["kind"] == "sub_batch_interleaving") {
      CHECK_THAT(best.error,
                 Catch::Contains("/serving/replicas/0/prefetch") && Catch::Contains("interleaves two"));
      continue;
    }
    REQUIRE(best.error == "");
    REQUIRE(best.iterations == none.iterations);
    CHECK(best.used + best.evicted + best.left == Approx(best.fetched).epsilon(1e-9));
    CHECK(best.end <= none.end * (1 + 1e-9));
    CHECK(best.end <= with.end * (1 + 1e-9));
  }
}

TEST_CASE("L2 NPUs: runs of steps with prefetches end when they do step by step", "[engine]") {
  Json scenario = small_scenario();
  scenario["precision"] = {{"weights", "int8"}, {"activations", "int8"}, {"kv_cache", "int8"}};
  scenario["cluster"]["nodes"] = {
      {{"devices", {{{"kind", "l2_npu"}, {"count", 8}, {"l2_mb", 20}}}}, {"interconnect", "hccs_mesh"}}};
  for (const char* batching : {"chunked_prefill", "orca", "static", "sub_batch_interleaving"})
    for (const std::string prefetch : {"preserve", "oracle"}) {
      if (prefetch == "oracle" && batching == std::string("sub_batch_interleaving")) continue;
      CAPTURE(batching, prefetch);
      scenario["serving"]["replicas"] =
          Json::array({{{"parallelism", {{"tensor", 8}}},
                        {"batching", {{"kind", batching}, {"max_batch_requests", 16}}},
                        {"prefetch", {{"kind", prefetch}}}}});
      scenario["fast_forward"] = false;
      const Outcome stepped = run(scenario);
      scenario["fast_forward"] = true;
      const Outcome fast = run(scenario);
      REQUIRE(stepped.error == "");
      CHECK(fast.end == Approx(stepped.end).epsilon(1e-9));
      REQUIRE(fast.requests.size() == stepped.requests.size());
      for (std::size_t i = 0; i < fast.requests.size(); ++i)
        CHECK(fast.requests[i].finished.value() ==
              Approx(stepped.requests[i].finished.value()).epsilon(1e-9));
    }
}

TEST_CASE("prefetch: the oracle refuses more operators than it can try all sets of, at its pointer",
          "[engine]") {
  Json scenario = small_scenario();
  Json& replica = scenario["serving"]["replicas"][0];
  replica = {{"parallelism", {{"tensor", 8}}},
             {"partitioning", {{"kind", "device_only"}, {"fused_all_reduce_chunks", 8}}},
             {"prefetch", {{"kind", "oracle"}}}};
  CHECK_THAT(run(scenario).error, Catch::Contains("/serving/replicas/0/prefetch") && Catch::Contains("12"));
  replica["partitioning"]["fused_all_reduce_chunks"] = 2;
  CHECK(run(scenario).error == "");
}

TEST_CASE("L2 NPUs: the paper's assumptions leave out what follows the layers", "[engine]") {
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

TEST_CASE(
    "prefetch: more than the cache holds evicts what was fetched first, which costs time and is counted",
    "[engine]") {
  Json scenario = small_scenario();
  scenario["workload"]["arrivals"] = {{"kind", "all_at_once"}};
  scenario["cluster"]["nodes"] = {
      {{"devices", {{{"kind", "l2_npu"}, {"count", 4}, {"l2_mb", 60}}}}, {"interconnect", "hccs_mesh"}}};
  const auto run_with = [&](const Json& limit) {
    scenario["serving"]["replicas"] = Json::array({{{"parallelism", {{"tensor", 4}}},
                                                    {"prefetch", {{"kind", "preserve"}, {"limit_mb", limit}}},
                                                    {"engine", {{"kind", "ideal"}}}}});
    return run(scenario);
  };
  const Outcome safe = run_with(nullptr), same = run_with(60), over = run_with(1000);
  REQUIRE(over.error == "");
  CHECK(safe.end == same.end);
  CHECK(over.end > safe.end);
  CHECK(safe.evicted == 0);
  CHECK(over.evicted > 0);
  CHECK(over.used + over.evicted + over.left == Approx(over.fetched));
  // What was evicted crosses the memory's bus once more.
  CHECK(over.memory - over.fetched + over.used == Approx(safe.memory - safe.fetched + safe.used));
}

TEST_CASE("prefetch: a policy that fetches nothing changes no time, on no device and beside no fused kernel",
          "[engine]") {
  for (const auto& [kind, links] : {std::pair{"ascend_910b", "hccs_mesh"}, {"h200_sxm", "nvlink4_switch"}})
    for (const int chunks : {1, 4}) {
      CAPTURE(kind, chunks);
      Json scenario = small_scenario();
      scenario["cluster"]["nodes"] = {
          {{"devices", {{{"kind", kind}, {"count", 4}}}}, {"interconnect", links}}};
      Json replica = {{"parallelism", {{"tensor", 4}}},
                      {"partitioning", {{"kind", "device_only"}, {"fused_all_reduce_chunks", chunks}}},
                      {"engine", {{"kind", "ideal"}}}};
      scenario["serving"]["replicas"] = Json::array({replica});
      const Outcome none = run(scenario);
      replica["prefetch"] = {{"kind", "preserve"}, {"limit_mb", 1e-6}};
      scenario["serving"]["replicas"] = Json::array({replica});
      const Outcome nothing = run(scenario);
      REQUIRE(nothing.error == "");
      CHECK(nothing.fetched == 0);
      CHECK(nothing.end == Approx(none.end).epsilon(1e-9));
    }
}

}  // namespace weir::test
