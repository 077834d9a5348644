#include <catch2/catch.hpp>

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <new>
#include <random>
#include <thread>

#include "sim/app/sweep/runner.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"
#include "test/app/sweep/small_sweep.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool memory_can_be_limited = false;  // its shadow takes terabytes of address space
#else
constexpr bool memory_can_be_limited = true;
#endif

std::string misbehave(std::size_t point) {
  if (point == 1) throw std::runtime_error("no such thing");
  if (point == 2) {
    std::fputs("the last words\n", stderr);
    ::signal(SIGABRT, SIG_DFL);  // not Catch's
    std::abort();
  }
  if (point == 3)
    while (true) wait(1);
  if (point == 4 && memory_can_be_limited) {
    std::vector<std::string> hoard;
    while (true) hoard.emplace_back(std::size_t{16} << 20, 'x');
  }
  if (point == 5) ::_exit(3);
  return "summary of " + std::to_string(point);
}

constexpr double time_limit = 3;  // a busy machine stalls a child for a second

std::map<std::size_t, EndedPoint> run_misbehaving(int jobs) {
  std::map<std::size_t, EndedPoint> results;
  const auto keep = [&](std::size_t point, const EndedPoint& r) { results[point] = r; };
  in_local_children(misbehave, {.time_s = time_limit, .memory_bytes = {}, .keep_stderr = true}, jobs)(
      {0, 1, 2, 3, 5}, keep, [] { return true; });
  ChildLimits limits{.time_s = 60, .memory_bytes = {}, .keep_stderr = true};
  if (memory_can_be_limited) limits.memory_bytes = std::int64_t{512} << 20;
  in_local_children(misbehave, limits, jobs)({4, 6}, keep, [] { return true; });
  return results;
}

Ended sweep(
    const std::string& file, const fs::path& out, std::vector<std::string> more = {},
    std::function<void(pid_t)> meanwhile = [](pid_t) {}) {
  std::vector<std::string> arguments = {"sweep", file, "--out", out.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_weir(arguments, {.meanwhile = std::move(meanwhile)});
}

}  // namespace

TEST_CASE("sweep: a point that throws, crashes, hangs, hoards or leaves fails alone, with the reason") {
  const int jobs = GENERATE(1, 3);
  std::map<std::size_t, EndedPoint> results = run_misbehaving(jobs);
  REQUIRE(results.size() == 7);
  CHECK(results[0].error == "");
  CHECK(results[0].summary == "summary of 0");
  CHECK(results[6].summary == "summary of 6");
  CHECK(results[1].error == "no such thing");
  CHECK_THAT(results[2].error, Catch::Contains("killed by signal 6") && Catch::EndsWith(": the last words"));
  CHECK(results[3].error == "stopped at the time limit of 3 s");
  if (memory_can_be_limited) CHECK(results[4].error == "out of memory (memory limit 512 MiB)");
  CHECK_THAT(results[5].error, Catch::StartsWith("exited with 3"));
  for (const std::size_t failed : {1u, 2u, 3u, 5u}) CHECK(results[failed].summary.empty());
}

TEST_CASE("sweep: what a point costs is measured") {
  std::map<std::size_t, EndedPoint> results = run_misbehaving(2);
  CHECK(results[3].wall_s >= time_limit);
  CHECK(results[3].cpu_s < results[3].wall_s);
  CHECK(results[0].peak_rss_bytes > 1 << 20);
}

TEST_CASE("sweep: told to stop, it kills what runs and reports nothing of it") {
  int asked = 0;
  in_local_children(misbehave, {}, 2)(
      {3, 3, 0}, [](std::size_t, const EndedPoint&) { FAIL("none has ended"); }, [&] { return ++asked < 3; });
  CHECK(asked == 3);
}

TEST_CASE("weir sweep: the same bytes for any number of jobs, and a table on stdout") {
  const ScratchDirectory scratch;
  const std::string file = write_small_sweep(scratch / "small.json", 12);
  const Ended one = sweep(file, scratch / "one", {"--jobs", "1"});
  INFO(one.err);
  REQUIRE(one.code == 0);
  CHECK_THAT(one.out, Catch::Contains("12 points done") && Catch::Contains("rate_per_s"));
  CHECK_THAT(one.err, Catch::Contains("results in"));
  const Ended three = sweep(file, scratch / "three", {"--jobs", "3", "--quiet"});
  CHECK(three.out + three.err == "");
  const std::string csv = contents(scratch / "one/results.csv");
  CHECK_THAT(csv, Catch::StartsWith("/workload/arrivals/rate_per_s,status,duration,completed"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 13);
  CHECK(csv == contents(scratch / "three/results.csv"));
  CHECK(rows(scratch / "one") == rows(scratch / "three"));
  CHECK_THAT(run_weir({"sweep", file}, {.folder = scratch.path()}).err, Catch::Contains("results in out/"));
}

TEST_CASE("weir sweep: a point over its time limit fails, the others are done, and the exit code is 3") {
  const ScratchDirectory scratch;
  const std::string file = write_small_sweep(scratch / "slow.json", 2, 1'000'000, R"({"time_s": 0.3})");
  const Ended ended = sweep(file, scratch / "out");
  CHECK(ended.code == 3);
  CHECK_THAT(ended.err, Catch::Contains("point 1 failed: stopped at the time limit of 0.3 s") &&
                            Catch::Contains("rate_per_s=8"));
  CHECK_THAT(ended.out, Catch::Contains("2 failed"));
  CHECK_THAT(contents(scratch / "out/results.csv"), Catch::EndsWith("8,failed\n"));
}

TEST_CASE("weir sweep: killed at 20 random moments and resumed, it leaves what an uninterrupted one does") {
  const ScratchDirectory scratch;
  const std::string file = write_small_sweep(scratch / "small.json", 60);
  REQUIRE(sweep(file, scratch / "whole", {"--jobs", "2"}).code == 0);
  const unsigned seed = GENERATE(1u, 2u, 3u, 4u);
  std::mt19937 random(seed);
  std::size_t before = 0;
  for (int kill = 0; kill < 5; ++kill) {
    const double moment = std::uniform_real_distribution<>(0, 0.15)(random);
    const Ended ended = sweep(file, scratch / "out", {"--jobs", "2", "--resume"}, [&](pid_t weir) {
      wait(moment);
      ::kill(weir, SIGKILL);
    });
    INFO("after " << moment << " s: " << ended.err);
    CHECK((ended.code == 128 + SIGKILL || ended.code == 0));
    const std::size_t now = points_done(scratch / "out");
    CHECK(now >= before);  // nothing finished is lost
    before = now;
  }
  const Ended last = sweep(file, scratch / "out", {"--resume"});
  INFO(last.err);
  CHECK(last.code == 0);
  CHECK(contents(scratch / "out/results.csv") == contents(scratch / "whole/results.csv"));
  CHECK(rows(scratch / "out") == rows(scratch / "whole"));
}

TEST_CASE("weir sweep: Ctrl-C leaves what is finished, nothing that looks whole, and exits 130 (143)") {
  const ScratchDirectory scratch;
  const std::string file = write_small_sweep(scratch / "small.json", 40, 5'000);
  const int signal = GENERATE(SIGINT, SIGTERM);
  const Ended ended = sweep(file, scratch / "out", {"--jobs", "2"}, [&](pid_t weir) {
    while (points_done(scratch / "out") < 3) wait(0.01);
    ::kill(weir, signal);
  });
  CHECK(ended.code == 128 + signal);
  CHECK_THAT(ended.err, Catch::Contains("--resume"));
  CHECK_FALSE(fs::exists(scratch / "out/results.csv"));
  const std::size_t done = points_done(scratch / "out");
  CHECK(done >= 3);
  CHECK(done < 40);
  const Ended resumed = sweep(file, scratch / "out", {"--resume"});
  CHECK(resumed.code == 0);
  CHECK_THAT(resumed.err, Catch::Contains(fmt::format("{} of 40 points are there already", done)));
  CHECK(points_done(scratch / "out") == 40);
}

TEST_CASE("weir sweep: without --resume old results are replaced whole, and one directory takes one sweep") {
  const ScratchDirectory scratch;
  const std::string small = write_small_sweep(scratch / "small.json", 4);
  REQUIRE(sweep(small, scratch / "out").code == 0);
  std::ofstream(scratch / "out/figure.svg") << "of the old ones";
  const std::string long_one = write_small_sweep(scratch / "long.json", 30, 5'000);
  const Ended ended = sweep(long_one, scratch / "out", {"--jobs", "1"}, [&](pid_t weir) {
    while (fs::exists(scratch / "out/figure.svg") || points_done(scratch / "out") < 1) wait(0.01);
    const Ended second = sweep(small, scratch / "out");
    CHECK(second.code == 2);
    CHECK_THAT(second.err, Catch::Contains("another weir (process ") && Catch::Contains("is writing there"));
    ::kill(weir, SIGINT);
  });
  CHECK(ended.code == 130);
  CHECK(scratch.names() == std::set<std::string>{"small.json", "long.json", "out"});
}
