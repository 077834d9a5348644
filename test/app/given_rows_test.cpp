// Catalog rows given in a scenario, as a user gives them.
#include <catch2/catch.hpp>

#include "models/latency/collectives.h"
#include "sim/plan/plan.h"
#include "test/app/run_weir.h"

namespace weir::test {
namespace {

Json quick() {
  Json scenario = read_json_file(shipped("neupims/sharegpt_online.json"));
  scenario["workload"]["requests"]["count"] = 40;
  return scenario;
}

Json run(const ScratchDirectory& scratch, const Json& scenario, const std::string& name) {
  const std::string file = write(scratch / (name + ".json"), scenario.dump());
  const Ended ended = run_weir({"run", file, "--quiet", "--out", (scratch / name).string()});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  return read_json_file(scratch / (name + "/summary.json"));
}

std::string problems_of(const Json& scenario, const std::string& file = "scenario.json") {
  try {
    read_plan(scenario, file);
    return "";
  } catch (const ConfigError& error) {
    std::string all;
    for (const Problem& p : error.problems()) all += p.pointer + ": " + p.what + "\n";
    return all;
  }
}

}  // namespace

TEST_CASE("given rows: a memory over a base is used, recorded, and run again from the record") {
  const ScratchDirectory scratch;
  Json scenario = quick();
  Json& device = scenario["cluster"]["nodes"][1]["devices"][0];
  const double before = run(scratch, scenario, "before")["mean_tpot_ms"];
  const Json memory = {{"base", "hbm2_neupims"}, {"ccd_l_ck", 4}, {"pim_comp_ck", 4}, {"banks", 32}};
  device["memory"] = memory;
  const Json slow = run(scratch, scenario, "slow");
  CHECK(slow["mean_tpot_ms"].get<double>() > 1.04 * before);
  CHECK(slow["scenario"]["cluster"]["nodes"][1]["devices"][0]["memory"] == memory);
  const Json again = run(scratch, slow["scenario"], "again");
  CHECK(again["mean_tpot_ms"] == slow["mean_tpot_ms"]);
  // The same in a file.
  write(scratch / "slow_memory.json", memory.dump());
  device["memory"] = "slow_memory.json";
  CHECK(run(scratch, scenario, "file")["mean_tpot_ms"] == slow["mean_tpot_ms"]);
  const Scenario read = read_plan(scenario, (scratch / "file.json").string()).scenario;
  CHECK(read.files.contains(scratch / "slow_memory.json"));
}

TEST_CASE("given rows: problems have their pointers into the scenario, and weir ends with 2") {
  const ScratchDirectory scratch;
  Json scenario = quick();
  Json& node = scenario["cluster"]["nodes"][0];
  node["devices"][0]["memory"] = {{"ccd_l_ckk", 4}, {"row_bytes", 100}};
  node["interconnect"] = {{"base", "nvlink9"}};
  scenario["model"] = {{"base", "gpt3-7b"}, {"number_of_layers", 3}};
  const std::string problems = problems_of(scenario);
  CHECK_THAT(problems, Catch::Contains("/cluster/nodes/0/devices/0/memory/ccd_l_ckk: unknown key") &&
                           Catch::Contains("/cluster/nodes/0/devices/0/memory/row_bytes: expected a power") &&
                           Catch::Contains("/cluster/nodes/0/interconnect/base: no such interconnect") &&
                           Catch::Contains("/model/number_of_layers: unknown key"));
  const std::string file = write(scratch / "bad.json", scenario.dump());
  CHECK(run_weir({"check", file}).code == 2);
  CHECK(run_weir({"run", file, "--out", (scratch / "out").string()}).code == 2);
  CHECK_FALSE(std::filesystem::exists(scratch / "out"));
  scenario = quick();
  scenario["cluster"]["nodes"][0]["devices"][0]["kind"] = 5;
  CHECK_THAT(problems_of(scenario), Catch::Contains("/cluster/nodes/0/devices/0/kind: expected"));
}

TEST_CASE("given rows: a device's file is relative to the scenario, and replicas find it by its name") {
  const ScratchDirectory scratch;
  write(scratch / "b201.json",
        R"({"base": "b200_sxm", "title": "a faster B200", "memory_bandwidth_gb_per_s": 9000})");
  Json scenario = read_json_file(shipped("quickstart.json"));
  scenario["cluster"]["nodes"][0]["devices"] = {{{"kind", "./b201.json"}}};
  scenario["serving"]["replicas"][0]["device"] = "b201";
  scenario["workload"]["requests"]["count"] = 20;
  const Json summary = run(scratch, scenario, "one_b201");
  CHECK(summary["devices"][0]["kind"] == "b201");
  CHECK(summary["scenario"]["cluster"]["nodes"][0]["devices"][0]["kind"] == "./b201.json");
}

TEST_CASE("given rows: other links than a base's are timed by the plain algorithm, as nobody measured them") {
  const auto time = [](const Json& interconnect) {
    Json scenario = read_json_file(shipped("quickstart.json"));
    scenario["cluster"]["nodes"][0]["devices"][0]["count"] = 2;
    scenario["cluster"]["nodes"][0]["interconnect"] = interconnect;
    scenario["serving"]["replicas"][0]["parallelism"] = {{"tensor", 2}};
    return read_plan(scenario, "scenario.json")
        .replicas[0]
        .rank.collectives->time(Collective::all_reduce, Bytes(1e6), 2);
  };
  const Seconds measured = time("nvlink4_switch");
  CHECK(time({{"base", "nvlink4_switch"}}) == measured);
  const Seconds plain = time({{"shape", "switch"}, {"bandwidth_gb_per_s", 357}, {"latency_us", 2}});
  CHECK(time({{"base", "nvlink4_switch"}, {"latency_us", 2}}) == plain);
  CHECK(plain != measured);
  CHECK(time({{"base", "nvlink4_switch"}, {"bandwidth_gb_per_s", 714}, {"latency_us", 2}}) < plain);
}

TEST_CASE("given rows: a model over a base has its keys, and only keys that are read") {
  const auto layers = [](const Json& model) {
    Reading reading("scenario.json");
    const Architecture m = read_model(model, reading, "/model");
    reading.finish();
    return m.layer_count();
  };
  CHECK(layers("llama3.1-8b") == 32);
  CHECK(layers({{"base", "llama3.1-8b"}, {"num_hidden_layers", 40}}) == 40);
  Json scenario = quick();
  scenario["model"] = {{"base", "llama3.1-8b"}, {"num_hidden_layers", 0}};
  CHECK_THAT(problems_of(scenario), Catch::Contains("/model/num_hidden_layers: expected an integer"));
  scenario["model"] = 5;
  CHECK_THAT(problems_of(scenario),
             Catch::Contains("/model: expected a string") && !Catch::Contains("no such"));
}

TEST_CASE("given rows: weir memory and weir pim take the path of a memory") {
  const ScratchDirectory scratch;
  const std::string file = write(scratch / "mine.json", R"({"base": "hbm2_neupims", "pim_comp_ck": 4})");
  const std::vector<std::string> request = {"--op",    "both", "--length",   "512",
                                            "--heads", "8",    "--head-dim", "128"};
  const auto pim = [&](const std::string& kind) {
    std::vector<std::string> arguments = {"pim", kind};
    arguments.insert(arguments.end(), request.begin(), request.end());
    return run_weir(arguments);
  };
  const auto cycles = [&](const std::string& kind) {
    return Json::parse(pim(kind).out)["cycles"].get<std::int64_t>();
  };
  CHECK(cycles(file) > cycles("hbm2_neupims"));
  CHECK_THAT(pim(file).err, Catch::Contains("mine (HBM2 channel of NeuPIMs"));
  const std::string trace = write(scratch / "trace.csv", "arrival,op,addr_hex\n0,R,0\n0,R,40\n");
  CHECK(run_weir({"memory", file, trace}).code == 0);
  const std::string bad =
      write(scratch / "bad.json", R"({"base": "hbm2_neupims", "pim_comp_ck": 0, "row": 1})");
  for (const Ended& ended : {pim(bad), run_weir({"memory", bad, trace})}) {
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("bad.json: /pim_comp_ck: expected an integer >= 1") &&
                              Catch::Contains("bad.json: /row: unknown key"));
  }
  // A head in one COMP a bank: 512 of them in a page, more than fit between two refreshes.
  const Ended long_tile =
      run_weir({"pim", write(scratch / "row.json", R"({"base": "hbm2_neupims", "row_bytes": 16384})"), "--op",
                "both", "--length", "512", "--heads", "512", "--head-dim", "16"});
  CHECK(long_tile.code == 2);
  CHECK_THAT(long_tile.err, Catch::Contains("between two refreshes"));
}

}  // namespace weir::test
