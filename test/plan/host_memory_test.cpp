// Host memory in a scenario: where it may stand, how much KV cache it holds, and what is refused in which
// words.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "models/memory/memory_spec.h"
#include "sim/core/errors.h"
#include "sim/plan/plan.h"
#include "test/serving/random_scenario.h"

using namespace weir;

namespace {

Json l3_scenario() {
  Json s = test::small_scenario();
  s["model"] = "gpt3-7b";
  s["precision"] = {{"weights", "fp16"}, {"activations", "fp16"}, {"kv_cache", "fp16"}};
  s["cluster"]["nodes"] = {{{"devices", {{{"kind", "dimm_pim"}}, {{"kind", "a100_sxm_80gb"}, {"count", 2}}}},
                            {"interconnect", "nvlink3_switch"}}};
  s["serving"]["replicas"] = {{{"parallelism", {{"tensor", 2}}},
                               {"kv_cache", {{"free_memory_fraction", 1.0}}},
                               {"partitioning", {{"kind", "gpu_pim"}}},
                               {"placement", {{"kind", "layer_wise"}}}}};
  return s;
}

std::vector<Problem> problems_of(const Json& scenario) {
  try {
    read_plan(scenario, "test.json");
  } catch (const ConfigError& e) {
    return e.problems();
  }
  return {};
}

void check_problem(const Json& scenario, const std::string& pointer, const std::string& words) {
  const std::vector<Problem> problems = problems_of(scenario);
  INFO(scenario["cluster"].dump());
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].pointer == pointer);
  CHECK_THAT(problems[0].what, Catch::Contains(words));
}

Json with_devices(const Json& devices) {
  Json s = l3_scenario();
  s["cluster"]["nodes"][0]["devices"] = devices;
  return s;
}

const Json two_gpus = {{"kind", "a100_sxm_80gb"}, {"count", 2}};

std::int64_t blocks_of(const Json& scenario) {
  return read_plan(scenario, "test.json").replicas[0].kv_blocks;
}

}  // namespace

TEST_CASE("host memory: it stands anywhere among a node's devices, and joins who keeps KV caches in it",
          "[engine]") {
  for (const Json& devices :
       {Json{two_gpus, {{"kind", "dimm_pim"}}}, Json{{{"kind", "dimm_pim"}}, two_gpus}}) {
    Json json = with_devices(devices);
    const ReplicaPlan replica = read_plan(json, "test.json").replicas[0];
    REQUIRE(replica.rank.keeps_kv_elsewhere());
    CHECK(replica.rank.placed_channels() == 4);
    CHECK(replica.kv_pools.blocks.size() == 1);
    CHECK(replica.rank.on->spec().kind == "a100_sxm_80gb");
    json["serving"]["replicas"][0]["partitioning"]["kind"] = "device_only";
    CHECK_FALSE(read_plan(json, "test.json").replicas[0].rank.keeps_kv_elsewhere());
  }
}

TEST_CASE("host memory: CPUs that train have none of its channels", "[engine]") {
  Json beside = with_devices({two_gpus, {{"kind", "host_dimm"}}});
  beside["serving"]["replicas"][0]["placement"]["kind"] = "round_robin";
  const std::int64_t blocks = blocks_of(beside);
  beside["cluster"]["nodes"][0]["devices"].push_back({{"kind", "xeon_e5_2630v3"}});
  beside["training"] = {{{"model", "alexnet"}, {"runtime", {{"kind", "cpu_only"}}}}};
  CHECK(blocks_of(beside) == blocks);
}

TEST_CASE("host memory: a node has one at most, and devices that run models", "[engine]") {
  const std::string devices = "/cluster/nodes/0/devices";
  const Json dimm = {{"kind", "dimm_pim"}};
  check_problem(with_devices({two_gpus, dimm, {{"kind", "host_dimm"}}}), devices, "at most one host memory");
  check_problem(with_devices({two_gpus, {{"kind", "dimm_pim"}, {"count", 2}}}), devices,
                "at most one host memory");
  const std::vector<Problem> alone = problems_of(with_devices(Json::array({dimm})));
  REQUIRE_FALSE(alone.empty());
  CHECK(alone[0].pointer == devices);
  CHECK_THAT(alone[0].what, Catch::Contains("a device that runs models"));
}

TEST_CASE("host memory: channels go evenly to the devices, ranks to the ranksets", "[engine]") {
  const auto with = [](const Json& keys) {
    Json dimm = {{"kind", "dimm_pim"}};
    dimm.update(keys);
    return with_devices({two_gpus, dimm});
  };
  check_problem(with({{"memory_channels", 15}}), "/serving/replicas/0/partitioning", "15 channels");
  check_problem(with({{"ranksets", 3}}), "/cluster/nodes/0/devices/1/ranksets", "divisor of the 4 ranks");
  check_problem(with({{"ranks", 6}}), "/cluster/nodes/0/devices/1/ranksets", "divisor of the 6 ranks");
  check_problem(with({{"memory", "magnetic_core"}}), "/cluster/nodes/0/devices/1/memory", "magnetic_core");
  check_problem(with({{"dimm_timing", "slow"}}), "/cluster/nodes/0/devices/1/dimm_timing", "commands");
  check_problem(with({{"memory_channels", 0}}), "/cluster/nodes/0/devices/1/memory_channels", "0");
  check_problem(with({{"memory_bandwidth_gb_per_s", 9}}),
                "/cluster/nodes/0/devices/1/memory_bandwidth_gb_per_s", "unknown key");
  Json many = with({{"ranksets", 3}});
  many["cluster"]["nodes"][0]["devices"][1]["activation"] = "none";
  CHECK(problems_of(many).size() == 2);  // all at once
}

TEST_CASE("host memory: KV caches move between it and the GPUs where both hold some, it in one pool",
          "[engine]") {
  const auto neo = [](const char* memory, const char* partitioning, bool spare, const char* placement) {
    Json json = with_devices({two_gpus, {{"kind", memory}}});
    Json& replica = json["serving"]["replicas"][0];
    replica["batching"] = {{"kind", "asymmetric_pipelining"}};
    replica["partitioning"] = {{"kind", partitioning}};
    if (spare) replica["partitioning"]["spare_memory"] = true;
    replica["placement"] = {{"kind", placement}};
    return json;
  };
  const std::string batching = "/serving/replicas/0/batching";
  check_problem(neo("host_dimm", "device_only", false, "round_robin"), batching, "moves KV caches");
  check_problem(neo("host_dimm", "gpu_pim", false, "round_robin"), batching, "spare_memory");
  check_problem(neo("dimm_pim", "gpu_pim", true, "round_robin"), batching, "layer_wise");
  Json all = neo("dimm_pim", "gpu_pim", true, "round_robin");
  all["serving"]["replicas"][0]["kv_cache"]["preemption"] = "swap";
  CHECK(problems_of(all).size() == 2);  // at once
  Json warm = neo("host_dimm", "gpu_pim", true, "round_robin");
  warm["workload"]["arrivals"] = {{"kind", "warm_batch"}, {"concurrency", 4}, {"batches", 1}, {"steps", 2}};
  check_problem(warm, batching, "warm_batch");
  CHECK(problems_of(neo("dimm_pim", "gpu_pim", true, "layer_wise")).empty());
  CHECK(problems_of(neo("host_dimm", "gpu_pim", true, "round_robin")).empty());
}

TEST_CASE("host memory: it may be made of any memory of the catalog", "[engine]") {
  for (const char* dimm : {"dimm_pim", "dimm_pim_rank", "host_dimm"})
    for (const std::string& memory : memory_names())
      for (const char* timing : {"commands", "peak"}) {
        INFO(dimm << " " << memory << " " << timing);
        CHECK(problems_of(
                  with_devices({two_gpus, {{"kind", dimm}, {"memory", memory}, {"dimm_timing", timing}}}))
                  .empty());
      }
}

TEST_CASE("host memory: gpu_pim without one, and who cannot be served from one, are refused", "[engine]") {
  check_problem(with_devices(Json::array({two_gpus})), "/serving/replicas/0/partitioning", "dimm_pim");
  Json served = l3_scenario();
  served["serving"]["replicas"][0]["device"] = "dimm_pim";
  const std::vector<Problem> problems = problems_of(served);
  REQUIRE_FALSE(problems.empty());
  CHECK(problems[0].pointer == "/serving/replicas/0/device");
}

TEST_CASE("host memory: layers go round its ranksets, not round the channels of a device's own", "[engine]") {
  Json json = test::random_npu_scenario(0, true);
  json["serving"]["replicas"] = {{{"device", "neupims_npu"},
                                  {"partitioning", {{"kind", "npu_pim"}}},
                                  {"placement", {{"kind", "layer_wise"}}}}};
  for (const char* told :
       {"neupims_npu", "dimm_pim or dimm_pim_rank or host_dimm", "gpu_pim or hot_cold as partit"})
    check_problem(json, "/serving/replicas/0/placement", told);
  json["serving"]["replicas"][0]["placement"]["kind"] = "random";
  CHECK(problems_of(json).empty());
}

TEST_CASE("host memory: its fullest rankset says how many blocks there are", "[engine]") {
  // 32 layers of 2 x 4096 elements of 2 bytes a token, halved by tensor parallelism; 2048 GiB for two.
  const double layer = 16 * 2. * 4096 * 2 / 2, capacity = 1024. * (1 << 30);
  for (const auto& [ranks, ranksets] : {std::pair{4, 4}, {4, 1}, {6, 3}, {5, 5}, {7, 7}, {64, 64}})
    for (const char* placement : {"layer_wise", "random", "round_robin"}) {
      Json json = with_devices({two_gpus, {{"kind", "dimm_pim"}, {"ranks", ranks}, {"ranksets", ranksets}}});
      json["serving"]["replicas"][0]["placement"]["kind"] = placement;
      const std::int64_t blocks = blocks_of(json);
      INFO(placement << " " << ranksets);
      const double rankset = capacity / ranksets;
      if (placement == std::string("layer_wise")) {
        // Of a block its layers go round: one rankset may hold one more of them.
        const double held = std::ceil(32. / ranksets) * layer;
        CHECK(static_cast<double>(blocks) * held <= rankset * (1 + 1e-12));
        CHECK(static_cast<double>(blocks + 1) * held > rankset);
      } else {
        const std::int64_t each = blocks / ranksets;
        CHECK(blocks % ranksets == 0);
        CHECK(static_cast<double>(each) * 32 * layer <= rankset * (1 + 1e-12));
        CHECK(static_cast<double>(each + 1) * 32 * layer > rankset);
      }
    }
}

TEST_CASE("host memory: the devices' own is for the weights, which must still fit", "[engine]") {
  Json json = l3_scenario();
  const std::int64_t blocks = blocks_of(json);
  json["cluster"]["nodes"][0]["devices"][1]["memory_capacity_gib"] = 20;
  CHECK(blocks_of(json) == blocks);
  json["cluster"]["nodes"][0]["devices"][1]["memory_capacity_gib"] = 5;  // 13 GB on two
  CHECK_FALSE(problems_of(json).empty());
  json = l3_scenario();
  json["cluster"]["nodes"][0]["devices"][0]["memory_capacity_gib"] = 1024;
  CHECK(std::abs(blocks_of(json) - blocks / 2) <= 1);
}

TEST_CASE("host memory: a KV cache that lies in it already is not swapped out to it", "[engine]") {
  Json json = l3_scenario();
  Json& replica = json["serving"]["replicas"][0];
  replica["kv_cache"]["preemption"] = "swap";
  check_problem(json, "/serving/replicas/0/kv_cache/preemption", "in the host's memory already");
  replica["partitioning"]["kind"] = "device_only";
  CHECK(problems_of(json).empty());
}

TEST_CASE("host memory: a KV cache in it is neither handed over nor taken over", "[engine]") {
  const Json beside = {{"kind", "device_only"}}, in_host = {{"kind", "gpu_pim"}};
  const auto handing = [](const Json& from, const Json& to) {
    Json json = l3_scenario();
    json["serving"]["replicas"] = {{{"role", "prefill"}, {"partitioning", from}},
                                   {{"role", "decode"}, {"partitioning", to}}};
    return json;
  };
  CHECK(problems_of(handing(beside, beside)).empty());
  check_problem(handing(in_host, beside), "/serving/replicas/0/role", "lies in a host's memory");
  check_problem(handing(beside, in_host), "/serving/replicas/1/role", "lies in a host's memory");
  CHECK(problems_of(handing(in_host, in_host)).size() == 2);  // all at once
}

TEST_CASE("gpu_pim: who attends to decodes beside a GPU multiplies 16-bit elements alone", "[engine]") {
  for (const std::string who : {"dimm_pim", "dimm_pim_rank", "host_dimm", "a100_hbm_pim"}) {
    const bool own = who == "a100_hbm_pim";
    Json json = with_devices(own ? Json{{{"kind", who}, {"count", 2}}} : Json{two_gpus, {{"kind", who}}});
    Json& replica = json["serving"]["replicas"][0];
    if (own) replica.erase("placement");
    for (const std::string precision : {"fp8", "int8", "fp32"}) {
      INFO(who << " " << precision);
      json["precision"]["kv_cache"] = precision;
      replica["partitioning"]["kind"] = "gpu_pim";
      check_problem(json, "/serving/replicas/0",
                    who + " attends to decodes' KV cache in bf16 and fp16 alone, not in " + precision);
      replica["partitioning"]["kind"] = "device_only";
      CHECK(problems_of(json).empty());
    }
    replica["partitioning"]["kind"] = "gpu_pim";
    for (const char* precision : {"bf16", "fp16"}) {
      json["precision"]["kv_cache"] = precision;
      CHECK(problems_of(json).empty());
    }
  }
}

TEST_CASE("host memory: one that holds no replica's KV cache is told of", "[engine]") {
  const auto tells = [](const Json& scenario) {
    return std::ranges::count_if(
        read_plan(scenario, "test.json").scenario.notes, [](const std::string& note) {
          return note.starts_with("the host memory among the devices holds no KV cache");
        });
  };
  const Json one = {{"partitioning", {{"kind", "device_only"}}}},
             other = {{"partitioning", {{"kind", "gpu_pim"}}}};
  Json json = l3_scenario();
  CHECK(tells(json) == 0);
  json["serving"]["replicas"] = {one, one};
  CHECK(tells(json) == 1);
  json["serving"]["replicas"] = {one, other};
  CHECK(tells(json) == 0);
  json["serving"]["replicas"] = {one, one};
  json["cluster"]["nodes"][0]["devices"] = Json::array({two_gpus});  // none there
  CHECK(tells(json) == 0);
}
