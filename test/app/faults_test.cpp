#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "sim/core/params.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"

// Bad input and faults, tried as a user would: the exit code, a message that names the place, nothing left.
using namespace weir;
using test::contents;
using test::Ended;
using test::run_weir;
using test::shipped;
namespace fs = std::filesystem;

namespace {

std::string write(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
  return path.string();
}

int lines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

void wait(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// Until weir takes SIGINT, by a handler or a thread that waits for it: with sanitizers, on a busy machine,
// its start takes a while.
void wait_for_start(pid_t weir) {
  const std::string process = "/proc/" + std::to_string(weir);
  const auto takes_it = [&] {
    if (fs::read_symlink(process + "/exe") != fs::canonical(WEIR_BINARY)) return false;  // not executed yet
    std::istringstream status(contents(process + "/status"));
    for (std::string line; std::getline(status, line);)
      if ((line.starts_with("SigCgt:") || line.starts_with("SigBlk:")) &&
          (std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1) & 1) != 0)
        return true;
    return false;
  };
  while (!takes_it()) wait(0.01);
  wait(0.1);
}

using Settings = std::vector<std::string>;

// The quickstart with few requests and these settings, into out/NAME below the scratch directory.
Ended run_small(const ScratchDirectory& scratch, const std::string& name, const Settings& settings) {
  Settings arguments = {
      "run", shipped("quickstart.json"), "--set", "/workload/requests/count=40", "--out", "out/" + name};
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  return run_weir(arguments, {.folder = scratch.path()});
}

}  // namespace

TEST_CASE("weir run: every problem of a scenario is one line, with its file and pointer") {
  const ScratchDirectory scratch;
  const Ended ended = run_small(scratch, "a", {"/model=\"llama9\"", "/sed=3", "/slo/ttft_ms=-1"});
  CHECK(ended.code == 2);
  CHECK(lines(ended.err) == 3);
  const std::string file = shipped("quickstart.json");
  CHECK_THAT(ended.err, Catch::Contains(file + ": /model: ") &&
                            Catch::Contains(file + ": /sed: unknown key; did you mean \"seed\"?") &&
                            Catch::Contains(file + ": /slo/ttft_ms: expected a number > 0, got -1"));
  CHECK_FALSE(fs::exists(scratch / "out"));
}

TEST_CASE("weir run: what cannot be is said at its place, and nothing is made") {
  struct Case {
    Settings settings;
    std::string pointer, complaint;
  };
  const std::string replica = "/serving/replicas/0", device = "/cluster/nodes/0/devices/0",
                    arrivals = "/workload/arrivals";
  const std::vector<Case> cases = {
      {{arrivals + R"(={"kind": "poisson", "rate_per_s": -3})"}, arrivals + "/rate_per_s", "got -3"},
      {{arrivals + R"(={"kind": "closed_loop", "concurrency": 0})"}, arrivals + "/concurrency", "got 0"},
      {{arrivals + R"(={"kind": "trace"})"}, arrivals + "/kind", "needs an arrival"},
      {{device + R"(/kind="h100")"}, device + "/kind", "did you mean \"h100_sxm\"?"},
      {{R"(/model="llama3-8")"}, "/model", "did you mean \"llama3-8b\"?"},
      {{replica + R"(/batching/kind="chunked")"},
       replica + "/batching/kind",
       "did you mean \"chunked_prefill\"?"},
      {{device + "/memory_bandwidth_gb_per_s=0"}, device + "/memory_bandwidth_gb_per_s", "> 0, got 0"},
      {{device + "/memory_bandwidth_gb_per_s=1e-300"}, device + "/memory_bandwidth_gb_per_s", "1e-300"},
      {{device + "/memory_bandwidth_gb_per_s=1e300"}, device + "/memory_bandwidth_gb_per_s", "1e+300"},
      {{replica + "/parallelism/tensor=3"}, replica + "/parallelism", "attention heads (32)"},
      {{replica + "/parallelism/pipeline=64"}, replica + "/parallelism", "more stages than the 32 layers"},
      {{replica + "/parallelism/tensor=2"}, replica, "it needs 2 devices of one kind"},
      {{replica + R"(/device="h100")"}, replica + "/device", "did you mean \"h100_sxm\"?"},
      {{replica + R"(/kv_cache={"blocks": 10, "free_memory_fraction": 0.5})"},
       replica + "/kv_cache/blocks",
       "cannot stand beside"},
      {{R"(/model="llama3.1-405b")"}, replica, "does not fit on h100_sxm"},
      {{replica + "/kv_cache/blocks=400000000"}, replica + "/kv_cache/blocks", "leaves room for"},
      {{replica + "/max_model_len=100000000"}, replica + "/max_model_len", "the longest that"},
      {{"/workload/requests/count=1000000000000"}, "/workload/requests/count", "got 1000000000000"},
      {{"/cluster/nodes/0/count=1000000000000"}, "/cluster/nodes/0/count", "got 1000000000000"},
      {{"/cluster/nodes/0/count=4096", device + "/count=8"}, "/cluster/nodes", "at most 4096 nodes"},
      {{"/cluster/nodes/0/count=2000", R"(/cluster/network/topology="full_mesh")"},
       "/cluster/network/topology",
       "at most 1024"},
      {{"/timeseries_period_s=1e-9"}, "/timeseries_period_s", "too short"},
      {{device + R"(/profile="nowhere")"}, device + "/profile", "no such folder"},
  };
  const ScratchDirectory scratch;
  for (const Case& c : cases) {
    const Ended ended = run_small(scratch, "a", c.settings);
    INFO(c.settings.front() << ": " << ended.err);
    CHECK(ended.code == 2);
    CHECK(ended.out == "");
    CHECK_THAT(ended.err, Catch::Contains(shipped("quickstart.json") + ": " + c.pointer + ": ") &&
                              Catch::Contains(c.complaint));
  }
  if (fs::exists(scratch / "out")) CHECK(fs::is_empty(scratch / "out"));
}

TEST_CASE("weir run: a broken trace is bad input, every bad cell with its line") {
  const ScratchDirectory scratch;
  const std::string header = "arrival_s,input_tokens,output_tokens\n";
  const std::vector<std::pair<std::string, std::string>> traces = {
      {"", "is empty"},
      {header, "holds no request"},
      {"arrival_s,input_tokens\n1,2\n", "line 1: no column \"output_tokens\""},
      {header + "1,2,3\nnan,2,3\n", "line 3: arrival_s: expected a time >= 0"},
      {header + "-1,2,3\n", "line 2: arrival_s"},
      {header + "1e400,2,3\n", "line 2: arrival_s"},
      {header + "1,-2,3\n", "line 2: input_tokens: expected a whole number"},
      {header + "1,2,99999999999999999999\n", "line 2: output_tokens"},
      {header + "1,2\n", "line 2: expected 3 fields, got 2"},
      {"\x1b[31m\n\x1b[2J,1,2\n", "no column"},
  };
  const auto run_trace = [&](const std::string& path) {
    return run_small(scratch, "a",
                     {R"(/workload={"requests": {"kind": "csv", "file": ")" + path +
                      R"("}, "arrivals": {"kind": "trace"}})"});
  };
  for (const auto& [text, complaint] : traces) {
    const Ended ended = run_trace(write(scratch / "trace.csv", text));
    INFO(text << ": " << ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("trace.csv: ") && Catch::Contains(complaint));
    CHECK(ended.err.find('\x1b') == std::string::npos);  // it steers no terminal
  }
  CHECK_THAT(run_trace(write(scratch / "gap.csv", header + "1,2,3\n,2,3\n")).err,
             Catch::Contains("/workload/arrivals/kind: ") && Catch::Contains("line 3: the arrival is empty"));
  CHECK_THAT(run_trace(scratch.path().string()).err, Catch::Contains("is a directory"));
  CHECK_THAT(run_trace((scratch / "absent.csv").string()).err, Catch::Contains("cannot be opened"));
  CHECK_FALSE(fs::exists(scratch / "out"));
}

TEST_CASE("weir run: requests that can never fit are rejected and counted, the others served") {
  const ScratchDirectory scratch;
  const Ended ended = run_small(scratch, "a", {"/serving/replicas/0/kv_cache/blocks=20"});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const Json summary = read_json_file(scratch / "out/a/summary.json");
  const std::string requests = contents(scratch / "out/a/requests.csv");
  int rejected = 0;
  for (std::size_t at = 0; (at = requests.find(",rejected\n", at)) != std::string::npos; ++at) ++rejected;
  CHECK(rejected > 0);
  CHECK(rejected < 40);
  CHECK(summary["rejected"] == rejected);
  CHECK(summary["completed"] == 40 - rejected);
}

TEST_CASE("weir run: a file whose name is not UTF-8 runs like any other") {
  const ScratchDirectory scratch;
  write(scratch / "\xfe.json",
        R"({"model": "llama3.1-8b", "cluster": {"nodes": [{"devices": [{"kind": "h100_sxm"}]}]},
    "workload": {"requests": {"kind": "fixed", "count": 1, "input_tokens": 9, "output_tokens": 9}, "arrivals": {"kind": "all_at_once"}}})");
  CHECK(run_weir({"run", "\xfe.json", "--out", "b"}, {.folder = scratch.path()}).code == 0);
  CHECK(read_json_file(scratch / "b/summary.json")["name"] == "\xef\xbf\xbd");
}

TEST_CASE("weir run --seed: takes what a seed can be and nothing else") {
  const ScratchDirectory scratch;
  for (const char* seed : {"-1", "1e3", "99999999999999999999999", "x", ""}) {
    const Ended ended =
        run_weir({"run", shipped("quickstart.json"), "--seed", seed}, {.folder = scratch.path()});
    INFO(seed << ": " << ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("/seed"));
  }
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
  for (const char* assignment : {"seed=1", "/seed", "/seed=", "/seed={", "/serving/replicas/99/count=1",
                                 "/serving/replicas/9999999999/count=1", "/name/x=1", "/seed=2.5"}) {
    INFO(assignment);
    CHECK(run_small(scratch, "a", {assignment}).code == 2);
  }
}

TEST_CASE("weir run: a bad place for the results is known before the run, and nothing is made") {
  const ScratchDirectory scratch;
  write(scratch / "notes.txt", "mine");
  fs::create_directory(scratch / "theirs");
  write(scratch / "theirs/notes.txt", "mine");
  fs::create_symlink("nothing", scratch / "dangling");
  for (const std::string place : {"notes.txt", "theirs", "notes.txt/below", "/proc/weir", "dangling", ""}) {
    // A million requests: it would not be back at once if it ran.
    const Ended ended =
        run_weir({"run", shipped("bench/million.json"), "--out", place}, {.folder = scratch.path()});
    INFO(place << ": " << ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::StartsWith("--out " + place + ": "));
    CHECK(ended.out == "");
  }
  CHECK(scratch.names() == std::set<std::string>{"dangling", "notes.txt", "theirs"});
  CHECK(contents(scratch / "theirs/notes.txt") == "mine");
}

TEST_CASE("weir: what cannot be printed is an error, and never lands in a file of ours") {
  const ScratchDirectory scratch;
  const auto with_stdout = [&](const std::string& redirection, const std::string& command) {
    const std::string line =
        "cd " + scratch.path().string() + " && " WEIR_BINARY " " + command + " " + redirection;
    return WEXITSTATUS(std::system(line.c_str()));
  };
  CHECK(with_stdout(">/dev/full 2>/dev/null", "list models") == 1);
  CHECK(with_stdout("2>/dev/null | head -1 >/dev/null", "list models") == 0);
  const std::string run = "run " + shipped("quickstart.json") + " --set /workload/requests/count=5 --out a";
  CHECK(with_stdout(">&- 2>&-", run) == 0);
  CHECK(lines(contents(scratch / "a/requests.csv")) == 6);
  CHECK(lines(contents(scratch / "a/summary.json")) > 6);
  CHECK_NOTHROW(read_json_file(scratch / "a/summary.json"));
}

TEST_CASE("weir: a signal while a trace is being read ends it at once") {
  const ScratchDirectory scratch;
  REQUIRE(::mkfifo((scratch / "trace.csv").c_str(), 0600) == 0);  // its reader waits as for a slow disk
  const Ended ended = run_weir({"check", shipped("quickstart.json")});
  REQUIRE(ended.code == 0);
  const std::string scenario =
      write(scratch / "s.json",
            R"({"model": "llama3.1-8b", "cluster": {"nodes": [{"devices": [{"kind": "h100_sxm"}]}]},
        "workload": {"requests": {"kind": "csv", "file": "trace.csv"}, "arrivals": {"kind": "trace"}}})");
  for (const char* command : {"run", "check"}) {
    const Ended stopped =
        run_weir({command, scenario}, {.folder = scratch.path(), .meanwhile = [&](pid_t child) {
                                         wait_for_start(child);
                                         ::kill(child, SIGINT);
                                       }});
    CHECK(stopped.code == 130);
    CHECK_THAT(stopped.err, Catch::Contains("interrupted"));
  }
  CHECK(scratch.names() == std::set<std::string>{"s.json", "trace.csv"});
}

TEST_CASE("weir run: Ctrl-C and SIGTERM end it with 130 and leave nothing") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const ScratchDirectory scratch;
    const auto started = std::chrono::steady_clock::now();
    const Ended ended =
        run_weir({"run", shipped("bench/million.json"), "--out", "out/a", "--set", "/fast_forward=false"},
                 {.folder = scratch.path(), .meanwhile = [&](pid_t child) {
                    wait_for_start(child);
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
  REQUIRE(run_small(scratch, "a", {}).code == 0);
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
