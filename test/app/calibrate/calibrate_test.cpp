// weir calibrate as a user runs it. The measured server is a simulated one of known constants, so that what
// comes of it can be held to the truth.
#include <catch2/catch.hpp>

#include "sim/core/params.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

constexpr int inputs = 512, outputs = 64;

Json server() {
  return {{"model", "llama3.1-8b"},
          {"cluster", {{"nodes", Json::array({{{"devices", Json::array({{{"kind", "h100_sxm"}}})}}})}}},
          {"serving", {{"replicas", Json::array({{{"engine", {{"kind", "vllm"}, {"version", "0.12"}}}}})}}}};
}

Json loop(int clients, int requests) {
  return {{"requests",
           {{"kind", "fixed"}, {"input_tokens", inputs}, {"output_tokens", outputs}, {"count", requests}}},
          {"arrivals", {{"kind", "closed_loop"}, {"concurrency", clients}}}};
}

Json summary_of(const ScratchDirectory& scratch, const Json& scenario) {
  const std::string file = write(scratch / "run.json", scenario.dump());
  const Ended run = run_weir({"run", file, "--quiet", "--out", scratch / "run"});
  INFO(run.err);
  REQUIRE(run.code == 0);
  return read_json_file(fs::path(scratch / "run") / "summary.json");
}

// vLLM's benchmark of a server with this engine, without --save-detailed unless `detailed`.
std::string measured(const ScratchDirectory& scratch, const Json& engine, int clients, bool detailed = false,
                     Json scenario = server()) {
  const int requests = 6 * clients;
  scenario["workload"] = loop(clients, requests);
  scenario["serving"]["replicas"][0]["engine"].update(engine);
  const Json summary = summary_of(scratch, scenario);
  Json result = {
      {"request_rate", "inf"}, {"burstiness", 1.0}, {"max_concurrency", clients}, {"model_id", "it"}};
  for (const char* name : {"completed", "total_input_tokens", "total_output_tokens", "request_throughput",
                           "mean_ttft_ms", "mean_tpot_ms"})
    result[name] = summary[name];
  if (detailed) {
    result["input_lens"] = std::vector<int>(static_cast<std::size_t>(requests), inputs);
    result["output_lens"] = std::vector<int>(static_cast<std::size_t>(requests), outputs);
  }
  return write(scratch / ("clients_" + std::to_string(clients) + ".json"), result.dump());
}

const Json slow = {{"step_overhead_us", 3000}, {"sequence_overhead_us", 60}, {"front_end_ms", 5}};

}  // namespace

TEST_CASE("calibrate: host times of a server are found again, and a run with them meets its times") {
  const ScratchDirectory scratch;
  std::vector<std::string> command = {"calibrate"};
  for (const int clients : {2, 16, 64}) command.push_back(measured(scratch, slow, clients, true));
  const std::string scenario = write(scratch / "server.json", server().dump());
  const std::string out = scratch / "calibration.json";
  command.insert(command.end(), {"--scenario", scenario, "--out", out});
  const Ended ended = run_weir(command);
  INFO(ended.out << ended.err);
  REQUIRE(ended.code == 0);
  const Json found = read_json_file(out);
  CHECK(found["engine"] == "vllm");
  CHECK(found["engine_version"] == "0.12");
  CHECK(found["device"] == "h100_sxm");
  CHECK(found["step_overhead_us"].get<double>() == Approx(3000).epsilon(0.15));
  CHECK(found["sequence_overhead_us"].get<double>() == Approx(60).epsilon(0.25));
  for (const Json& one : found["fitted"]["measurements"]) {
    CHECK(std::abs(one["tpot_error"].get<double>()) < 0.02);
    CHECK(std::abs(one["tpot_error_held_out"].get<double>()) < 0.1);
    CHECK(std::abs(one["tpot_error_before"].get<double>()) > 0.2);
  }

  // A load that it never saw.
  Json truth = server(), calibrated = server();
  truth["workload"] = calibrated["workload"] = loop(32, 100);
  truth["serving"]["replicas"][0]["engine"].update(slow);
  calibrated["serving"]["replicas"][0]["engine"]["calibration"] = "calibration.json";
  const double real = summary_of(scratch, truth)["mean_tpot_ms"],
               ours = summary_of(scratch, calibrated)["mean_tpot_ms"];
  CHECK(ours == Approx(real).epsilon(0.02));
}

TEST_CASE("calibrate: what a device's kernels reach is found again beside a host of known times") {
  const ScratchDirectory scratch;
  Json given = server();
  given["serving"]["replicas"][0]["engine"] = {{"kind", "vllm"},
                                               {"version", "0.12"},
                                               {"step_overhead_us", 500},
                                               {"sequence_overhead_us", 20},
                                               {"prompt_overhead_us", 0}};
  const Json engine = {
      {"step_overhead_us", 500},
      {"sequence_overhead_us", 20},
      {"prompt_overhead_us", 0},
      {"calibration", {{"engine", "vllm_v1"}, {"device", "h100_sxm"}, {"memory_efficiency", 0.6}}}};
  std::vector<std::string> command = {"calibrate"};
  for (const int clients : {2, 8, 24}) command.push_back(measured(scratch, engine, clients, true));
  command.insert(command.end(),
                 {"--scenario", write(scratch / "server.json", given.dump()), "--out", scratch / "c.json"});
  const Ended ended = run_weir(command);
  INFO(ended.out << ended.err);
  REQUIRE(ended.code == 0);
  const Json found = read_json_file(scratch / "c.json");
  CHECK(found["memory_efficiency"].get<double>() == Approx(0.6).epsilon(0.05));
  CHECK_FALSE(found.contains("step_overhead_us"));
  CHECK(found["fitted"]["left_as_it_is"]["step_overhead_us"] == "the scenario gives it");
}

TEST_CASE("calibrate: one load does not tell a sequence's cost from a step's") {
  const ScratchDirectory scratch;
  const std::string scenario = write(scratch / "server.json", server().dump()), out = scratch / "c.json";
  const Ended ended =
      run_weir({"calibrate", measured(scratch, slow, 16, true), "--scenario", scenario, "--out", out});
  INFO(ended.out << ended.err);
  REQUIRE(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("cannot be told from step_overhead_us: there is one load only"));
  CHECK_FALSE(read_json_file(out).contains("sequence_overhead_us"));
}

TEST_CASE("calibrate: a server that presets are right about is left alone, and no file is written") {
  const ScratchDirectory scratch;
  const std::string scenario = write(scratch / "server.json", server().dump());
  const std::string out = scratch / "c.json";
  const Ended ended =
      run_weir({"calibrate", measured(scratch, Json::object(), 4, true),
                measured(scratch, Json::object(), 32, true), "--scenario", scenario, "--out", out});
  CHECK(ended.code == 3);
  CHECK_THAT(ended.err, Catch::Contains("nothing is written"));
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE(
    "calibrate: lengths that a result does not list are the scenario's fixed ones, as it sums them up") {
  const ScratchDirectory scratch;
  Json fixed = server();
  fixed["workload"] = {{"requests", {{"kind", "fixed"}, {"input_tokens", 1}, {"output_tokens", 2}}}};
  std::vector<std::string> command = {"calibrate"};
  for (const int clients : {2, 32}) command.push_back(measured(scratch, slow, clients));
  command.insert(command.end(),
                 {"--scenario", write(scratch / "server.json", fixed.dump()), "--out", scratch / "c.json"});
  const Ended ended = run_weir(command);
  INFO(ended.out << ended.err);
  REQUIRE(ended.code == 0);
  CHECK(read_json_file(scratch / "c.json")["step_overhead_us"].get<double>() == Approx(3000).epsilon(0.2));
}

TEST_CASE("calibrate: everything that is wrong is told at once, and nothing runs") {
  const ScratchDirectory scratch;
  const std::string plain = measured(scratch, slow, 2);  // has no lengths, and the scenario has none
  const std::string no_times =
      write(scratch / "no_times.json", R"({"request_rate": "inf", "max_concurrency": 2,
    "completed": 1, "total_input_tokens": 5, "total_output_tokens": 5, "request_throughput": 1,
    "input_lens": [5], "output_lens": [5]})");
  const std::string scenario = write(scratch / "server.json", server().dump());
  const Ended ended = run_weir({"calibrate", plain, no_times, scratch / "none.json", "--scenario", scenario,
                                "--out", scratch / "c.json"});
  CHECK(ended.code == 2);
  CHECK_THAT(ended.err, Catch::Contains("--save-detailed") && Catch::Contains("neither a mean TPOT") &&
                            Catch::Contains("none.json"));
  CHECK_FALSE(fs::exists(scratch / "c.json"));

  Json again = server();
  again["serving"]["replicas"][0]["engine"]["calibration"] = {{"engine", "vllm_v1"}, {"device", "h100_sxm"}};
  const Ended twice = run_weir({"calibrate", measured(scratch, slow, 2, true), "--scenario",
                                write(scratch / "again.json", again.dump()), "--out", scratch / "c.json"});
  CHECK(twice.code == 2);
  CHECK_THAT(twice.err, Catch::Contains("/serving/replicas/0/engine/calibration"));
}

TEST_CASE("calibrate: requests of the scenario that a measurement's own replace are told") {
  const ScratchDirectory scratch;
  Json with_workload = server();
  with_workload["workload"] = loop(4, 10);
  const std::string scenario = write(scratch / "server.json", with_workload.dump());
  const std::string listed = measured(scratch, slow, 16, true), out = scratch / "c.json";
  const char* note = "/workload/requests: is not used";
  CHECK_THAT(run_weir({"calibrate", listed, "--scenario", scenario, "--out", out}).err,
             Catch::Contains(note));
  const std::string plain = measured(scratch, slow, 16);
  const Ended used = run_weir({"calibrate", plain, "--scenario", scenario, "--out", out});
  CHECK(used.code == 0);
  CHECK_THAT(used.err, !Catch::Contains(note));
}

TEST_CASE("calibrate: each measurement may have a scenario, of the same server under other limits") {
  const ScratchDirectory scratch;
  const auto with_seats = [](int seats) {
    Json scenario = server();
    scenario["serving"]["replicas"][0]["batching"] = {{"kind", "chunked_prefill"},
                                                      {"max_batch_requests", seats}};
    return scenario;
  };
  std::vector<std::string> command = {"calibrate"};
  for (const int clients : {4, 32})  // half of them wait, which TTFT and TPOT show
    command.push_back(measured(scratch, slow, clients, true, with_seats(clients / 2)));
  for (const int clients : {4, 32})
    command.insert(command.end(), {"--scenario", write(scratch / (std::to_string(clients) + "_seats.json"),
                                                       with_seats(clients / 2).dump())});
  command.insert(command.end(), {"--out", scratch / "c.json"});
  const Ended ended = run_weir(command);
  INFO(ended.out << ended.err);
  REQUIRE(ended.code == 0);
  const Json found = read_json_file(scratch / "c.json");
  CHECK(found["step_overhead_us"].get<double>() == Approx(3000).epsilon(0.15));
  for (const Json& one : found["fitted"]["measurements"]) {
    CHECK(std::abs(one["tpot_error"].get<double>()) < 0.03);
    CHECK(std::abs(one["ttft_error"].get<double>()) < 0.05);
  }
}

TEST_CASE("calibrate: a scenario that says nothing of replicas is of one") {
  const ScratchDirectory scratch;
  Json plain = server();
  const std::string seen = measured(scratch, slow, 4, true, plain);
  for (const char* key : {"", "serving"}) {
    plain = server();
    plain.erase("serving");
    if (*key != 0) plain[key] = Json::object();
    const Ended ended = run_weir({"calibrate", seen, "--scenario",
                                  write(scratch / "plain.json", plain.dump()), "--out", scratch / "c.json"});
    INFO(ended.err);
    CHECK(ended.code == 0);
  }
}

TEST_CASE("calibrate: scenarios of several servers, or of too few measurements, are refused") {
  const ScratchDirectory scratch;
  const std::string two = measured(scratch, slow, 2, true), four = measured(scratch, slow, 4, true);
  const std::string scenario = write(scratch / "server.json", server().dump()), out = scratch / "c.json";
  Json other = server();
  other["serving"]["replicas"][0]["engine"]["kind"] = "sglang";
  const Ended several = run_weir({"calibrate", two, four, "--scenario", scenario, "--scenario",
                                  write(scratch / "other.json", other.dump()), "--out", out});
  CHECK(several.code == 2);
  CHECK_THAT(several.err, Catch::Contains("other.json: /serving/replicas: expected vllm 0.12 on h100_sxm"));
  other = server();
  other["serving"]["replicas"][0]["engine"]["step_overhead_us"] = 700;
  CHECK(run_weir({"calibrate", two, four, "--scenario", scenario, "--scenario",
                  write(scratch / "given.json", other.dump()), "--out", out})
            .code == 2);
  other = server();
  other["serving"]["replicas"][0]["parallelism"] = {{"tensor", 2}};
  other["cluster"]["nodes"][0]["devices"][0]["count"] = 2;
  const Ended larger = run_weir({"calibrate", two, four, "--scenario", scenario, "--scenario",
                                 write(scratch / "larger.json", other.dump()), "--out", out});
  CHECK(larger.code == 2);
  CHECK_THAT(larger.err, Catch::Contains("parallelism"));
  const Ended fewer =
      run_weir({"calibrate", two, four, four, "--scenario", scenario, "--scenario", scenario, "--out", out});
  CHECK(fewer.code == 2);
  CHECK_THAT(fewer.err, Catch::Contains("one for each of the 3 measurements (got 2)"));
  CHECK_FALSE(fs::exists(out));
}
