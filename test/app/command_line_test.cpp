#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "sim/core/params.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

TEST_CASE("weir: help and version are answers, anything unknown is bad input") {
  CHECK(run_weir({"--help"}).code == 0);
  CHECK_THAT(run_weir({"--help"}).out,
             Catch::Contains("run") && Catch::Contains("check") && Catch::Contains("list"));
  CHECK_THAT(run_weir({"run", "--help"}).out, Catch::Contains("--figures") && Catch::Contains("--seed"));
  CHECK_THAT(run_weir({"--version"}).out, Catch::StartsWith("weir "));
  CHECK(run_weir({}).code == 2);
  CHECK(run_weir({"run"}).code == 2);
  CHECK(run_weir({"run", "x.json", "--colour"}).code == 2);
  const Ended misspelt = run_weir({"rnu"});
  CHECK(misspelt.code == 2);
  CHECK_THAT(misspelt.err, Catch::Contains("did you mean \"run\"?"));
}

TEST_CASE("weir run: leaves every file of the contract, and the table on stdout") {
  const ScratchDirectory scratch;
  const Ended ended = run_small(scratch, "a", {"--timeline"});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  for (const char* file :
       {"summary.json", "requests.csv", "timeseries.csv", "timeline.json", "performance.json"})
    CHECK(fs::file_size(scratch / "out/a" / file) > 0);
  CHECK_THAT(ended.out, Catch::Contains("TTFT") && Catch::Contains("Bound by") && !Catch::Contains("\033"));
  CHECK_THAT(ended.err, Catch::Contains("results in out/a"));
  CHECK(lines(contents(scratch / "out/a/requests.csv")) == 41);
  const Json summary = read_json_file(scratch / "out/a/summary.json");
  CHECK(summary["completed"] == 40);
  CHECK(summary["scenario"]["workload"]["requests"]["count"] == 40);
  const Json performance = read_json_file(scratch / "out/a/performance.json");
  for (const char* key : {"wall_s", "cpu_s", "peak_rss_bytes", "events"}) CHECK(performance.contains(key));
}

TEST_CASE("weir run: the timeline draws the operators of a step of each kind, in it and unit by unit") {
  const ScratchDirectory scratch;
  REQUIRE(run_weir({"run", shipped("parallelism/tensor_parallel.json"), "--set",
                    "/workload/requests/count=20", "--out", "out", "--timeline"},
                   {.folder = scratch.path()})
              .code == 0);
  std::map<int, std::string> tracks;
  std::map<std::string, std::vector<Json>> boxes;
  const Json timeline = read_json_file(scratch / "out/timeline.json");
  for (const Json& event : timeline["traceEvents"]) {
    if (event["name"] == "thread_name") tracks[event["tid"]] = event["args"]["name"];
    if (event["ph"] == "X") boxes[tracks.at(event["tid"])].push_back(event);
  }
  const auto start = [](const Json& box) { return box["ts"].get<double>(); };
  const auto end = [](const Json& box) { return box["ts"].get<double>() + box["dur"].get<double>(); };
  std::map<std::string, double> first, last;  // of each kind's drawn step
  for (const Json& step : boxes["replica 0 stage 0"])
    if (first.try_emplace(step["name"], start(step)).second) last[step["name"]] = end(step);
  CHECK(first.size() >= 2);
  const double rounding = 0.01;  // of times to nanoseconds
  std::set<std::string> names;
  for (const char* unit : {"gpu", "link"}) {
    auto& operators = boxes[std::string("replica 0 stage 0 ") + unit];
    std::sort(operators.begin(), operators.end(), [&](auto& a, auto& b) { return start(a) < start(b); });
    REQUIRE(operators.size() > 100);
    for (std::size_t i = 0; i < operators.size(); ++i) {
      names.insert(operators[i]["name"]);
      if (i > 0) CHECK(start(operators[i]) >= end(operators[i - 1]) - rounding);
      CHECK(std::any_of(first.begin(), first.end(), [&](const auto& kind) {
        // A run of decodes is one box: its first step is what is drawn.
        return start(operators[i]) >= kind.second - rounding &&
               end(operators[i]) <= last[kind.first] + rounding;
      }));
    }
  }
  for (const char* name : {"embedding", "qkv_proj", "attention", "all_reduce", "lm_head", "all_gather"})
    CHECK(names.contains(name));
  const Json device = read_json_file(scratch / "out/summary.json")["devices"][0];
  CHECK(device["units"]["gpu"]["busy_s"].get<double>() + device["units"]["link"]["busy_s"].get<double>() +
            device["host_bound_s"].get<double>() ==
        Approx(device["busy_s"].get<double>()));
  CHECK(device["units"]["link"]["busy_s"] == device["link_bound_s"]);
}

TEST_CASE("weir run: what summary.json says follows from requests.csv") {
  const ScratchDirectory scratch;
  REQUIRE(run_small(scratch, "a").code == 0);
  const Json summary = read_json_file(scratch / "out/a/summary.json");
  std::istringstream rows(contents(scratch / "out/a/requests.csv"));
  std::string row;
  std::getline(rows, row);
  double tokens = 0, ttft = 0, count = 0, last = 0;
  while (std::getline(rows, row)) {
    std::vector<std::string> cells;
    std::istringstream in(row);
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    REQUIRE(cells.size() == 13);
    tokens += std::stod(cells[3]);
    ttft += std::stod(cells[8]);
    last = std::max(last, std::stod(cells[7]));
    CHECK(std::stod(cells[8]) == Approx((std::stod(cells[6]) - std::stod(cells[1])) * 1e3).margin(2e-6));
    ++count;
  }
  CHECK(summary["total_output_tokens"] == tokens);
  CHECK(summary["mean_ttft_ms"].get<double>() == Approx(ttft / count));
  CHECK(summary["simulated_s"].get<double>() == Approx(last));
}

TEST_CASE("weir run: the same scenario and seed give the same bytes, another seed others") {
  const ScratchDirectory scratch;
  REQUIRE(run_small(scratch, "a", {"--timeline"}).code == 0);
  REQUIRE(run_small(scratch, "b/deeper", {"--timeline"}).code == 0);
  REQUIRE(run_small(scratch, "c", {"--timeline", "--seed", "2"}).code == 0);
  for (const char* file : {"summary.json", "requests.csv", "timeseries.csv", "timeline.json"}) {
    INFO(file);
    CHECK(contents(scratch / "out/a" / file) == contents(scratch / "out/b/deeper" / file));
    CHECK(contents(scratch / "out/a" / file) != contents(scratch / "out/c" / file));
  }
}

TEST_CASE("weir run: --out defaults to out/ and the file's stem, --quiet prints nothing") {
  const ScratchDirectory scratch;
  const Ended ended =
      run_weir({"run", shipped("quickstart.json"), "--set", "/workload/requests/count=5", "--quiet"},
               {.folder = scratch.path()});
  CHECK(ended.code == 0);
  CHECK(ended.out + ended.err == "");
  CHECK(fs::exists(scratch / "out/quickstart/summary.json"));
}

TEST_CASE("weir run: results are replaced whole") {
  const ScratchDirectory scratch;
  REQUIRE(run_small(scratch, "a", {"--timeline"}).code == 0);
  REQUIRE(run_small(scratch, "a").code == 0);
  CHECK_FALSE(fs::exists(scratch / "out/a/timeline.json"));
  CHECK(std::distance(fs::directory_iterator(scratch / "out"), {}) == 1);
}

TEST_CASE("weir check: says ok, or lists what is wrong and ends with 2") {
  const Ended good = run_weir({"check", shipped("quickstart.json")});
  CHECK(good.code == 0);
  CHECK_THAT(good.out, Catch::Contains("quickstart.json: ok"));
  const ScratchDirectory scratch;
  const Ended bad = run_weir(
      {"check", write(scratch / "bad.json", R"({"model": "llama3.1-8b", "cluster": {}, "workload": 3})")});
  CHECK(bad.code == 2);
  CHECK_THAT(bad.err, Catch::Contains("bad.json: /cluster/nodes: required") &&
                          Catch::Contains("bad.json: /workload: expected an object"));
  CHECK(run_weir({"check"}).code == 2);
}

TEST_CASE("weir: a sweep is run by sweep and a scenario by run, and each says so of the other") {
  const Ended run = run_weir({"run", shipped("sweeps/chunk_size.json")});
  CHECK(run.code == 2);
  CHECK_THAT(run.err, Catch::Contains("this is a sweep: weir sweep " + shipped("sweeps/chunk_size.json")));
  const Ended sweep = run_weir({"sweep", shipped("quickstart.json")});
  CHECK(sweep.code == 2);
  CHECK_THAT(sweep.err, Catch::Contains("this is a scenario: weir run " + shipped("quickstart.json")));
}

TEST_CASE("weir run -, weir check -: read stdin, its paths relative to the current directory") {
  const ScratchDirectory scratch;
  const HowToRun how{.folder = scratch.path(), .under = {"sh", "-c", "exec \"$0\" \"$@\" < in.json"}};
  write(scratch / "trace.csv", "arrival_s,input_tokens,output_tokens\n0,10,2\n1,20,3\n");
  Json scenario = read_json_file(shipped("quickstart.json"));
  scenario["workload"] = {{"requests", {{"kind", "csv"}, {"file", "trace.csv"}}},
                          {"arrivals", {{"kind", "trace"}}}};
  write(scratch / "in.json", scenario.dump());
  REQUIRE(run_weir({"run", "-", "--quiet"}, how).code == 0);
  CHECK(lines(contents(scratch / "out/stdin/requests.csv")) == 3);
  CHECK_THAT(run_weir({"check", "-"}, how).out, Catch::StartsWith("stdin: ok"));
  write(scratch / "in.json", "{\"model\": 5");
  const Ended bad = run_weir({"check", "-"}, how);
  CHECK(bad.code == 2);
  CHECK_THAT(bad.err, Catch::StartsWith("stdin: not valid JSON"));
  const HowToRun endless{.under = {"sh", "-c", "exec \"$0\" \"$@\" < /dev/zero"}};
  CHECK_THAT(run_weir({"run", "-"}, endless).err, Catch::Contains("longer than 64 MiB"));
}

TEST_CASE("weir check: tells a scenario's notes and about how long it will take") {
  const ScratchDirectory scratch;
  const Ended quick = run_weir({"check", shipped("quickstart.json")}, {.folder = scratch.path()});
  CHECK(quick.code == 0);
  CHECK_THAT(quick.out,
             Catch::Contains("estimated time: about ") && Catch::Contains(" s on 1 core (run now)"));
  CHECK(lines(quick.err) == 1);  // where its lengths are from, as `weir run` says

  Json slow = read_json_file(shipped("quickstart.json"));
  slow["cluster"]["nodes"][0] =
      parse_json(R"({"devices": [{"kind": "h100_sxm", "count": 8}], "interconnect": "nvlink4_switch"})", "");
  slow["serving"]["replicas"][0]["parallelism"]["tensor"] = 8;
  slow["workload"]["requests"]["count"] = 20000;
  slow["collectives"] = "flows";
  const std::string file = write(scratch / "slow.json", slow.dump());
  const Ended flows = run_weir({"check", file});
  CHECK(flows.code == 0);
  CHECK_THAT(flows.out, Catch::Contains("on 1 core (from its beginning, run now)"));
  CHECK_THAT(flows.err, Catch::Contains("note: collectives are played as flows, which takes about "));
  // Before it starts, while there is time to think better of it.
  const Ended begun =
      run_weir({"run", file, "--out", (scratch / "a").string()}, {.meanwhile = [](pid_t weir) {
                 const fs::path stderr_of = "/proc/" + std::to_string(weir) + "/fd/2";
                 for (int i = 0; i < 1200; ++i) {
                   const bool its_own = fs::is_regular_file(stderr_of);  // a test's may be a pipe
                   if (its_own && contents(stderr_of).find("collectives are") != std::string::npos) break;
                   std::this_thread::sleep_for(std::chrono::milliseconds(50));
                 }
                 ::kill(weir, SIGINT);
               }});
  CHECK(begun.code == 130);
  CHECK_THAT(begun.err, Catch::Contains("note: collectives are played as flows, which takes about "));
}

TEST_CASE("weir list: every subject lists names, and every name has its details") {
  for (const std::string subject :
       {"devices", "models", "policies", "workloads", "interconnects", "topologies", "memories", "metrics"}) {
    const Ended all = run_weir({"list", subject, "--json"});
    INFO(subject << ": " << all.err);
    REQUIRE(all.code == 0);
    const Json entries = Json::parse(all.out);
    CHECK(entries.size() >= 2);
    for (const Json& entry : entries) {
      CHECK_FALSE(entry["summary"].get<std::string>().empty());
      CHECK(run_command({"list", subject, entry["name"]}).code == 0);
    }
  }
  CHECK_THAT(run_weir({"list", "policies", "chunked_prefill"}).out, Catch::Contains("max_batch_tokens"));
  const Ended of_what = run_weir({"list"});
  CHECK(of_what.code == 2);
  CHECK_THAT(of_what.err, Catch::Contains("of what? devices, models, policies"));
  CHECK_THAT(run_weir({"list", "device"}).err, Catch::Contains("did you mean \"devices\"?"));
  CHECK_THAT(run_weir({"list", "devices", "h100"}).err, Catch::Contains("did you mean \"h100_nvl\"?"));
}

TEST_CASE("weir run: links carry every byte of KV that is handed over, and the time series shows when") {
  const ScratchDirectory scratch;
  const std::vector<std::string> arguments = {
      "run",
      shipped("parallelism/disaggregated.json"),
      "--quiet",
      "--out",
      "out",
      "--set",
      R"(/workload/requests={"kind": "fixed", "count": 50, "input_tokens": 1000, "output_tokens": 20})"};
  REQUIRE(run_weir(arguments, {.folder = scratch.path()}).code == 0);
  const Json summary = read_json_file(scratch / "out/summary.json");
  double out = 0, in = 0;
  for (const Json& link : summary["links"])
    (link["name"].get<std::string>().ends_with(".out") ? out : in) += link["carried_gb"].get<double>();
  // llama3.1-8b in bf16: 2 x 32 layers x 8 KV heads x 128 x 2 bytes a token.
  CHECK(out == Approx(50. * 1000 * 131072 / 1e9).epsilon(1e-6));
  CHECK(in == Approx(out));
  std::ifstream series(scratch / "out/timeseries.csv");
  std::string header;
  std::getline(series, header);
  CHECK_THAT(header, Catch::Contains("node0_h100_sxm_0_out_utilisation"));
}
