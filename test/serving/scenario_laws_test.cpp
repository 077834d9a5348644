#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "sim/core/errors.h"
#include "sim/studies/validation/kernels.h"
#include "test/devices/rows.h"
#include "test/serving/random_scenario.h"

// Laws over every row of the catalogs, and over what cuts a run short.
using namespace weir;
using test::check_laws;
using test::Outcome;
using test::random_scenario;

namespace {

bool can_be_read(const Json& scenario) {
  try {
    read_plan(scenario, "test.json");
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

// The random scenario on this device, in its narrowest layout of up to 16 devices; null if none holds the
// model.
Json on_device(Json scenario, const std::string& device, const std::string& model) {
  scenario["model"] = model;
  scenario["workload"]["requests"]["count"] = 12;
  scenario["cluster"]["nodes"] = {
      {{"count", 4}, {"devices", {{{"kind", device}, {"count", 8}}}}, {"interconnect", "pcie4_x16"}}};
  for (Json& replica : scenario["serving"]["replicas"]) {
    replica["kv_cache"].erase("blocks");
    replica["batching"]["max_batch_tokens"] = 1024;
    replica["count"] = 1;
    const bool npu = catalog_device(device)->spec().units.front().name == "systolic";
    replica["partitioning"] = {{"kind", npu ? "npu_units" : "device_only"}};
  }
  for (const char* type : {"bf16", "fp16"})
    for (const int devices : {1, 2, 4, 8, 16})
      for (const int tensor : {devices, devices / 2, devices / 4}) {
        if (tensor < 1) continue;
        scenario["precision"] = {{"weights", type}, {"activations", type}, {"kv_cache", type}};
        for (Json& replica : scenario["serving"]["replicas"])
          replica["parallelism"] = {{"tensor", tensor}, {"pipeline", devices / tensor}};
        if (can_be_read(scenario)) return scenario;
      }
  return nullptr;
}

}  // namespace

TEST_CASE("simulation: the laws hold on every device of the catalog with every model that it holds",
          "[engine]") {
  std::map<std::string, int> ran;
  unsigned seed = 0;
  for (const std::string& device : test::rows_that_run_models())
    for (const std::string& model : architecture_names()) {
      const Json scenario = on_device(random_scenario(++seed, true), device, model);
      if (scenario.is_null()) continue;
      check_laws(scenario, test::run(scenario));
      ++ran[device];
      ++ran[model];
    }
  for (const std::string& device : test::rows_that_run_models()) CHECK(ran[device] > 0);
  for (const std::string& model : architecture_names()) CHECK(ran[model] > 0);
}

TEST_CASE("simulation: a time limit cuts a run, and changes nothing before it", "[engine]") {
  for (unsigned seed = 300; seed < 330; ++seed) {
    Json scenario = random_scenario(seed, seed % 2 == 0);
    const Outcome whole = test::run(scenario);
    const double limit = whole.end / 3;
    scenario["simulated_time_limit_s"] = limit;
    const Outcome cut = test::run(scenario);
    INFO(scenario.dump());
    REQUIRE(whole.error + cut.error == "");
    REQUIRE(cut.requests.size() == whole.requests.size());
    for (std::size_t i = 0; i < cut.requests.size(); ++i) {
      const RequestRecord &a = whole.requests[i], &b = cut.requests[i];
      INFO("request " << i);
      if (a.status == RequestStatus::completed && a.finished.value() < limit) {
        REQUIRE(b.status == RequestStatus::completed);
        REQUIRE(b.first_token.value() == Approx(a.first_token.value()).epsilon(1e-9));
        REQUIRE(b.finished.value() == Approx(a.finished.value()).epsilon(1e-9));
      } else {
        REQUIRE(b.status != RequestStatus::completed);
        REQUIRE(b.first_token.value() <= limit);
      }
    }
  }
}

TEST_CASE("simulation: collectives played as flows agree with the closed form on an idle network",
          "[engine]") {
  for (const char* shape : {"switch", "ring", "full_mesh"})
    for (const int tensor : {2, 4, 8}) {
      Json scenario = test::small_scenario();
      scenario["cluster"]["nodes"][0]["interconnect"] = {
          {"shape", shape}, {"bandwidth_gb_per_s", 200}, {"latency_us", 3}};
      scenario["cluster"]["nodes"][0]["devices"][0]["count"] = tensor;  // half a ring is no ring
      scenario["workload"]["requests"] = {
          {"kind", "fixed"}, {"count", 3}, {"input_tokens", 200}, {"output_tokens", 20}};
      scenario["serving"]["replicas"][0]["parallelism"] = {{"tensor", tensor}};
      scenario["serving"]["replicas"][0]["engine"] = {{"kind", "ideal"}};
      const Outcome closed = test::run(scenario);
      scenario["collectives"] = "flows";
      const Outcome flows = test::run(scenario);
      INFO(shape << " of " << tensor);
      REQUIRE(closed.error + flows.error == "");
      CHECK(flows.busy == Approx(closed.busy).epsilon(1e-3));
      CHECK(flows.memory == Approx(closed.memory).epsilon(1e-3));
      CHECK(flows.energy == Approx(closed.energy).epsilon(1e-3));
      for (std::size_t i = 0; i < closed.requests.size(); ++i)
        CHECK(flows.requests[i].finished.value() ==
              Approx(closed.requests[i].finished.value()).epsilon(1e-3));
    }
}

TEST_CASE("scenario: a partitioning that lacks a unit of the device is what is wrong", "[engine]") {
  Json scenario = test::random_npu_scenario(1, true);
  const auto error = [&](const char* device, const char* partitioning) {
    scenario["serving"]["replicas"] =
        Json::array({{{"device", device}, {"partitioning", {{"kind", partitioning}}}}});
    return test::run(scenario).error;
  };
  CHECK(error("neupims_npu", "npu_pim") == "");
  CHECK_THAT(error("npu_only", "npu_pim"),
             Catch::Contains("/serving/replicas/0/partitioning: npu_pim needs a unit that runs logit"));
  CHECK_THAT(error("neupims_npu", "device_only"),
             Catch::Contains("/serving/replicas/0/partitioning: device_only runs one kernel after another"));
}

TEST_CASE("scenario: a prefetch that the device has no cache for is what is wrong", "[engine]") {
  Json scenario = test::small_scenario();
  scenario["serving"]["replicas"][0]["prefetch"] = {{"kind", "preserve"}};
  CHECK(test::run(scenario).error == "");
  Json& device = scenario["cluster"]["nodes"][0]["devices"][0];
  device["kind"] = "rtx_pro_6000";  // an L2 whose bandwidth nobody measured
  CHECK_THAT(test::run(scenario).error,
             Catch::Contains("/serving/replicas/0/prefetch: prefetches need a unit"));
  device["l2_bandwidth_gb_per_s"] = 6000;
  CHECK(test::run(scenario).error == "");
  device = {{"kind", "rtx4090"},
            {"count", 2},
            {"profile", WEIR_SOURCE_DIR "/scenarios/devices/rtx4090_llama3.1-8b_tp1"}};
  scenario["serving"]["replicas"][0]["parallelism"] = {{"tensor", 2}};
  CHECK_THAT(test::run(scenario).error,
             Catch::Contains("/serving/replicas/0: ") && Catch::Contains("nothing can be prefetched"));
}

TEST_CASE("scenario: collectives cannot be flows where operators overlap", "[engine]") {
  Json scenario = test::small_scenario();
  scenario["collectives"] = "flows";
  Json& batching = scenario["serving"]["replicas"][0]["batching"];
  batching = {{"kind", "sub_batch_interleaving"}, {"interleave", "off"}};
  CHECK(test::run(scenario).error == "");
  batching["interleave"] = "best";
  CHECK_THAT(test::run(scenario).error, Catch::Contains("/collectives: cannot be \"flows\""));
  scenario = test::random_npu_scenario(1, true);
  scenario["serving"]["replicas"] =
      Json::array({{{"device", "neupims_npu"}, {"partitioning", {{"kind", "npu_pim"}}}}});
  REQUIRE(test::run(scenario).error == "");
  scenario["collectives"] = "flows";
  CHECK_THAT(test::run(scenario).error, Catch::Contains("/collectives: cannot be \"flows\""));
}

TEST_CASE("scenario: collectives cannot be flows where they pay the latency of the links once", "[engine]") {
  Json scenario = test::small_scenario();
  scenario["collectives"] = "closed_form";
  Json& node = scenario["cluster"]["nodes"][0];
  node["devices"][0]["count"] = 4;
  node["interconnect"] = {
      {"shape", "ring"}, {"bandwidth_gb_per_s", 25}, {"latency_us", 25}, {"latency", "once"}};
  Json& replica = scenario["serving"]["replicas"][0];
  replica["parallelism"] = {{"tensor", 4}};
  replica["engine"] = {{"kind", "ideal"}};
  const Outcome once = test::run(scenario);
  REQUIRE(once.error == "");
  node["interconnect"]["latency"] = "per_round";  // 2 x 3 rounds of an all-reduce
  CHECK(test::run(scenario).end > once.end);
  scenario["collectives"] = "flows";
  CHECK(test::run(scenario).error == "");
  node["interconnect"]["latency"] = "once";
  CHECK_THAT(test::run(scenario).error, Catch::Contains("/collectives: cannot be \"flows\" over"));
}

TEST_CASE("simulation: on a prefill replica a request holds its prompt and no more", "[engine]") {
  Json scenario = test::small_scenario();
  scenario["workload"]["requests"] = {
      {"kind", "fixed"}, {"count", 20}, {"input_tokens", 96}, {"output_tokens", 1000}};
  scenario["workload"]["arrivals"] = {{"kind", "all_at_once"}};
  // 12 blocks of 16 tokens hold two prompts, and not a tenth of one answer.
  scenario["serving"]["replicas"] = {{{"role", "prefill"}, {"kv_cache", {{"blocks", 12}}}},
                                     {{"role", "decode"}}};
  std::map<std::string, Outcome> by_admission;
  for (const std::string admission : {"prompt", "sequence"}) {
    scenario["serving"]["replicas"][0]["kv_cache"]["admission"] = admission;
    const Outcome o = by_admission[admission] = test::run(scenario);
    REQUIRE(o.error == "");
    for (const RequestRecord& r : o.requests) CHECK(r.status == RequestStatus::completed);
  }
  for (std::size_t i = 0; i < 20;
       ++i)  // the answers lie elsewhere: to reserve for them is to reserve nothing
    CHECK(by_admission["prompt"].requests[i].first_token == by_admission["sequence"].requests[i].first_token);

  scenario["serving"]["replicas"][0]["kv_cache"]["blocks"] = 5;  // boundary: 6 hold the prompt, 5 do not
  for (const RequestRecord& r : test::run(scenario).requests) CHECK(r.status == RequestStatus::rejected);
  scenario["serving"]["replicas"][0]["kv_cache"]["blocks"] = 6;
  for (const RequestRecord& r : test::run(scenario).requests) CHECK(r.status == RequestStatus::completed);
}

TEST_CASE("scenario: max_model_len may be what the KV cache holds, and no more", "[engine]") {
  Json scenario = test::small_scenario();
  Json& replica = scenario["serving"]["replicas"][0];
  replica["kv_cache"] = {{"blocks", 100}};
  replica["max_model_len"] = 1601;  // 1600 tokens in 100 blocks; the last one's KV is never computed
  CHECK(can_be_read(scenario));
  replica["max_model_len"] = 1602;
  CHECK_FALSE(can_be_read(scenario));
  replica["batching"] = {{"kind", "orca"}, {"max_batch_tokens", 1000}};
  replica["max_model_len"] = 1001;  // a prompt of 1000 and a token
  CHECK(can_be_read(scenario));
  replica["max_model_len"] = 1002;
  CHECK_FALSE(can_be_read(scenario));
}
