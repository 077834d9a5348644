#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "sim/core/params.h"
#include "test/app/run_weir.h"

// What a run meets beside its input: no place for the results, full disks, signals. Nothing half-written.
using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

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

}  // namespace

TEST_CASE("weir run: a bad place for the results is known before the run, and nothing is made") {
  const ScratchDirectory scratch;
  write(scratch / "notes.txt", "mine");
  fs::create_directory(scratch / "theirs");
  write(scratch / "theirs/notes.txt", "mine");
  fs::create_symlink("nothing", scratch / "dangling");
  for (const std::string place : {"notes.txt", "theirs", "notes.txt/below", "/proc/weir", "dangling"}) {
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

TEST_CASE("weir: a signal while requests are being read ends it at once") {
  const ScratchDirectory scratch;
  const Ended ended = run_weir({"check", shipped("quickstart.json")});
  REQUIRE(ended.code == 0);
  const std::string scenario =
      write(scratch / "s.json",
            R"({"model": "llama3.1-8b", "cluster": {"nodes": [{"devices": [{"kind": "h100_sxm"}]}]},
        "workload": {"requests": {"kind": "lognormal", "count": 100000000, "input": {"mean": 300, "std": 300, "max": 4096},
                                  "output": {"mean": 300, "std": 300, "max": 4096}},
                     "arrivals": {"kind": "all_at_once"}}})");  // which takes ten seconds
  for (const char* command : {"run", "check"}) {
    const Ended stopped =
        run_weir({command, scenario}, {.folder = scratch.path(), .meanwhile = [&](pid_t child) {
                                         wait_for_start(child);
                                         ::kill(child, SIGINT);
                                       }});
    CHECK(stopped.code == 130);
    CHECK_THAT(stopped.err, Catch::Contains("interrupted"));
  }
  CHECK(scratch.names() == std::set<std::string>{"s.json"});
}

TEST_CASE("weir run: Ctrl-C and SIGTERM end it with 130 and 143 and leave nothing") {
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
    CHECK(ended.code == 128 + signal);
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
