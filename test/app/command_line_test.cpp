#include <catch2/catch.hpp>

#include <signal.h>

#include <chrono>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "sim/core/params.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"

using namespace weir;
using test::Ended;
using test::run_weir;
using test::shipped;
namespace fs = std::filesystem;

namespace {

std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string write(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
  return path.string();
}

// The quickstart with few requests, into out/NAME below the scratch directory.
Ended run_small(const ScratchDirectory& scratch, const std::string& name,
                std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {
      "run", shipped("quickstart.json"), "--set", "/workload/requests/count=40", "--out", "out/" + name};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_weir(arguments, {.folder = scratch.path()});
}

int lines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

void wait(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

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

TEST_CASE("weir run: a bad place for the results is known before the run, and nothing is made") {
  const ScratchDirectory scratch;
  write(scratch / "notes.txt", "mine");
  fs::create_directory(scratch / "theirs");
  write(scratch / "theirs/notes.txt", "mine");
  for (const std::string place : {"notes.txt", "theirs", "notes.txt/below", "/proc/weir"}) {
    // A million requests: it would not be back at once if it ran.
    const Ended ended =
        run_weir({"run", shipped("bench/million.json"), "--out", place}, {.folder = scratch.path()});
    INFO(place << ": " << ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::StartsWith("--out " + place + ": "));
    CHECK(ended.out == "");
  }
  CHECK(scratch.names() == std::set<std::string>{"notes.txt", "theirs"});
  CHECK(contents(scratch / "theirs/notes.txt") == "mine");
}

TEST_CASE("weir run: every problem of a scenario is one line, with its file and pointer") {
  const ScratchDirectory scratch;
  const Ended ended =
      run_small(scratch, "a", {"--set", "/model=\"llama9\"", "--set", "/sed=3", "--set", "/slo/ttft_ms=-1"});
  CHECK(ended.code == 2);
  CHECK(lines(ended.err) == 3);
  const std::string file = shipped("quickstart.json");
  CHECK_THAT(ended.err, Catch::Contains(file + ": /model: ") &&
                            Catch::Contains(file + ": /sed: unknown key; did you mean \"seed\"?") &&
                            Catch::Contains(file + ": /slo/ttft_ms: expected a number > 0, got -1"));
  CHECK_FALSE(fs::exists(scratch / "out"));
}

TEST_CASE("weir run: hostile and broken files are bad input, never a crash") {
  const ScratchDirectory scratch;
  const std::string nest(10 << 20, '[');
  const std::vector<std::pair<std::string, std::string>> files = {
      {"", "not valid JSON"},
      {"{", "not valid JSON"},
      {"[]", "expected an object"},
      {"{\"model\": NaN}", "not valid JSON"},
      {"{\"model\": \"\xff\xfe\"}", "not valid JSON"},
      {nest, "nested deeper"},
      {"{\"seed\": 1, \"seed\": 2}", "given twice"},
      {"{\"model\": \"llama3.1-8b\"}", "required, but missing"},
      {"{\"seed\": 1e400}", ""},
  };
  for (const auto& [text, complaint] : files) {
    const Ended ended =
        run_weir({"run", write(scratch / "x.json", text), "--out", (scratch / "out").string()});
    INFO(text.substr(0, 40) << ": " << ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("x.json") && Catch::Contains(complaint));
    CHECK_FALSE(fs::exists(scratch / "out"));
  }
  CHECK(run_weir({"run", scratch.path().string()}).code == 2);
  CHECK(run_weir({"run", (scratch / "absent.json").string()}).code == 2);
  for (const char* assignment :
       {"seed=1", "/seed", "/seed=", "/seed={", "/serving/replicas/99/count=1", "/name/x=1", "/seed=2.5"}) {
    INFO(assignment);
    CHECK(run_small(scratch, "a", {"--set", assignment}).code == 2);
  }
}

TEST_CASE("weir run: Ctrl-C and SIGTERM end it with 130 and leave nothing") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const ScratchDirectory scratch;
    const auto started = std::chrono::steady_clock::now();
    const Ended ended =
        run_weir({"run", shipped("bench/million.json"), "--out", "out/a", "--set", "/fast_forward=false"},
                 {.folder = scratch.path(), .meanwhile = [&](pid_t child) {
                    wait(0.7);
                    ::kill(child, signal);
                  }});
    INFO(ended.err);
    CHECK(ended.code == 130);
    CHECK(ended.out == "");
    CHECK(std::chrono::steady_clock::now() - started <
          std::chrono::seconds(30));  // not when it would have ended
    if (fs::exists(scratch / "out")) CHECK(fs::is_empty(scratch / "out"));
  }
}

TEST_CASE("weir run: killed at any moment, it leaves the old results or the new ones") {
  const ScratchDirectory scratch;
  REQUIRE(run_small(scratch, "a").code == 0);
  const std::string before = contents(scratch / "out/a/requests.csv");
  for (int i = 0; i < 10; ++i) {
    run_weir({"run", shipped("quickstart.json"), "--set", "/workload/requests/count=20000", "--out", "out/a",
              "--quiet"},
             {.folder = scratch.path(), .meanwhile = [&](pid_t child) {
                wait(0.05 * i);
                ::kill(child, SIGKILL);
              }});
    const Json summary = read_json_file(scratch / "out/a/summary.json");
    const std::string requests = contents(scratch / "out/a/requests.csv");
    CHECK(lines(requests) == summary["completed"].get<int>() + summary["failed"].get<int>() + 1);
    CHECK((requests == before || lines(requests) == 20001));
  }
}

TEST_CASE("weir run --figures: draws the figures and keeps their scripts and data") {
  const ScratchDirectory scratch;
  const Ended ended = run_small(scratch, "a", {"--figures"});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  for (const std::string figure : {"latency", "throughput", "utilisation", "kv_cache"}) {
    CHECK_THAT(contents(scratch / "out/a" / (figure + ".svg")), Catch::Contains("</svg>"));
    CHECK(fs::exists(scratch / "out/a/figures" / (figure + ".gp")));
  }
  CHECK(ended.err.find("warning") == std::string::npos);
}

TEST_CASE("weir run --figures: without gnuplot it says so before it runs") {
  const ScratchDirectory scratch;
  const Ended ended = run_weir({"run", shipped("bench/million.json"), "--figures"},
                               {.folder = scratch.path(), .environment = {"PATH=/nowhere"}});
  CHECK(ended.code == 1);
  CHECK_THAT(ended.err, Catch::Contains("gnuplot"));
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

TEST_CASE("weir list: every subject lists names, and every name has its details") {
  for (const std::string subject :
       {"devices", "models", "policies", "workloads", "interconnects", "topologies"}) {
    const Ended all = run_weir({"list", subject, "--json"});
    INFO(subject << ": " << all.err);
    REQUIRE(all.code == 0);
    const Json entries = Json::parse(all.out);
    CHECK(entries.size() >= 2);
    for (const Json& entry : entries) {
      CHECK_FALSE(entry["summary"].get<std::string>().empty());
      CHECK(run_weir({"list", subject, entry["name"]}).code == 0);
    }
  }
  CHECK_THAT(run_weir({"list", "policies", "chunked_prefill"}).out, Catch::Contains("max_batch_tokens"));
  CHECK(run_weir({"list"}).code == 2);
  CHECK_THAT(run_weir({"list", "device"}).err, Catch::Contains("did you mean \"devices\"?"));
  CHECK_THAT(run_weir({"list", "devices", "h100"}).err, Catch::Contains("did you mean \"h100_sxm\"?"));
}
