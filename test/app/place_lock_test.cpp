// One weir at a time writes to a place, whatever it writes, and what killed ones left goes with the next.
#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "sim/app/output/output_file.h"
#include "sim/app/output/result_directory.h"
#include "sim/core/errors.h"
#include "test/app/run_weir.h"
#include "test/app/sweep/small_sweep.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

// A process that holds what `take` gives until it is killed; by then it has it.
class Holder {
 public:
  template <class Take>
  explicit Holder(const Take& take) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const auto held = take();
      if (::write(ends[1], "x", 1) == 1) ::pause();
      ::_exit(0);
    }
    char there = 0;
    REQUIRE(::read(ends[0], &there, 1) == 1);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Holder() { kill(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

Holder holding(const fs::path& place, PlaceLock::Part part) {
  return Holder([&] { return std::make_unique<PlaceLock>(place, part, "them"); });
}

// A run that is writing there: its results are made, not committed.
Holder running(const fs::path& place) {
  return Holder([&] {
    auto directory = std::make_unique<ResultDirectory>(place);
    write_file(directory->file("summary.json"), "{}");
    return directory;
  });
}

void write_result(const fs::path& place, const std::string& file) {
  ResultDirectory directory(place);
  write_file(directory.file("summary.json"), R"({"request_throughput": 1, "scenario": {}})");
  write_file(directory.file(file), "x");
  directory.commit();
}

ino_t inode(const fs::path& path) {
  struct stat found {};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  return found.st_ino;
}

class Standing {  // in a folder
 public:
  explicit Standing(const fs::path& folder) : before_(fs::current_path()) { fs::current_path(folder); }
  ~Standing() { fs::current_path(before_); }
  Standing(const Standing&) = delete;
  Standing& operator=(const Standing&) = delete;

 private:
  fs::path before_;
};

}  // namespace

TEST_CASE("lock: a place takes one writer, two where one draws what the other makes, and no trace is left") {
  const ScratchDirectory scratch;
  const fs::path place = scratch / "run";
  struct Case {
    PlaceLock::Part first, second;
    bool both;
  };
  for (const Case& c : {Case{PlaceLock::everything, PlaceLock::everything, false},
                        {PlaceLock::everything, PlaceLock::drawings, false},
                        {PlaceLock::drawings, PlaceLock::everything, false},
                        {PlaceLock::drawings, PlaceLock::drawings, false},
                        {PlaceLock::results, PlaceLock::results, false},
                        {PlaceLock::results, PlaceLock::drawings, true}}) {
    Holder first = holding(place, c.first);
    if (c.both)
      CHECK_NOTHROW(PlaceLock(place, c.second, "us"));
    else
      CHECK_THROWS_WITH(PlaceLock(place, c.second, "us"), Catch::StartsWith("us: another weir (process ") &&
                                                              Catch::Contains("is writing there"));
    CHECK(fs::exists(scratch / ".run.lock"));
    first.kill();
    CHECK_NOTHROW(PlaceLock(place, PlaceLock::everything, "us"));
    CHECK(scratch.names().empty());
  }
}

TEST_CASE(
    "results: the next run removes what a killed one left beside the place, never what a live one makes") {
  const ScratchDirectory scratch;
  write_result(scratch / "run", "old.csv");
  Holder killed = running(scratch / "run");
  CHECK(scratch.names().size() == 3);  // with the lock and the unfinished results
  CHECK_THROWS_WITH(ResultDirectory(scratch / "run"), Catch::Contains("another weir (process "));
  CHECK(scratch.names().size() == 3);
  killed.kill();
  const Holder other = running(scratch / "run2");  // its name begins like the first one's
  write_result(scratch / "run", "new.csv");
  CHECK(fs::exists(scratch / "run/new.csv"));
  CHECK(scratch.names().size() == 3);  // run, and the other's two
}

TEST_CASE("weir: a second command into a place that one writes to is refused, whatever the two are") {
  const ScratchDirectory scratch;
  REQUIRE(run_small(scratch, "a").code == 0);
  const std::string place = scratch / "out/a", small = write_small_sweep(scratch / "small.json", 2);
  const std::vector<std::vector<std::string>> commands = {
      {"run", shipped("quickstart.json"), "--out", place},
      {"sweep", small, "--out", place},
      {"reproduce", "validation", "--only", "kernel_gemm", "--out", place},
      {"plot", place},
      {"report", place},
      {"plot", place, "--out", place + "/mine"},
      {"report", place, "--out", place + "/plots/../mine.html"}};
  const std::string before = contents(scratch / "out/a/summary.json");
  const Holder writer = running(place);
  for (const auto& command : commands) {
    const Ended ended = run_weir(command);
    INFO(command[0] << ": " << ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("another weir (process ") && Catch::Contains("is writing there"));
  }
  CHECK(contents(scratch / "out/a/summary.json") == before);
  CHECK_FALSE(fs::exists(scratch / "out/a/report.html"));
}

TEST_CASE("weir run: into the directory of a sweep that runs it is refused, and the sweep goes on") {
  const ScratchDirectory scratch;
  const std::string sweep = write_small_sweep(scratch / "small.json", 30, 5'000);
  const Ended swept =
      run_weir({"sweep", sweep, "--out", scratch / "out", "--jobs", "1"}, {.meanwhile = [&](pid_t) {
                 while (points_done(scratch / "out") < 1)
                   std::this_thread::sleep_for(std::chrono::milliseconds(10));
                 const Ended run = run_weir({"run", shipped("quickstart.json"), "--out", scratch / "out"});
                 CHECK(run.code == 2);
                 CHECK_THAT(run.err, Catch::Contains("another weir (process "));
                 const Ended report = run_weir({"report", scratch / "out"});
                 CHECK(report.code == 0);  // of the points that are there
               }});
  INFO(swept.err);
  CHECK(swept.code == 0);
  CHECK(points_done(scratch / "out") == 30);
  CHECK(fs::exists(scratch / "out/results.csv"));
}

TEST_CASE("results: the directory that somebody stands in stays the same one, and is replaced whole") {
  const ScratchDirectory scratch;
  write_result(scratch / "run", "figures/latency.csv");
  const ino_t before = inode(scratch / "run");
  for (const auto& [stand, place] : {std::pair{"run", "."}, {"run/figures", ".."}}) {
    const Standing here(scratch / stand);
    write_result(place, "figures/new.csv");
    CHECK(inode(scratch / "run") == before);
    CHECK(fs::exists(scratch / "run/figures/new.csv"));
    CHECK_FALSE(fs::exists(scratch / "run/figures/latency.csv"));
    CHECK(std::distance(fs::directory_iterator(scratch / "run"), {}) == 2);
    write_result(scratch / "run", "figures/latency.csv");
  }
  CHECK(scratch.names() == std::set<std::string>{"run"});
}

TEST_CASE("results: a swap within a directory that was killed at any step is completed by the next command") {
  const auto make = [](const fs::path& folder, const char* which) {
    fs::create_directories(folder / "figures");
    std::ofstream(folder / "summary.json")
        << R"({"request_throughput": 1, "completed": 3, "scenario": {}, "name": ")" << which << "\"}";
    std::ofstream(folder / "figures" / which) << which;
  };
  // What is in the folders of the swap after each of its renames: names of the old and the new results.
  using Names = std::vector<std::string>;
  struct Step {
    Names old_here, old_gone, new_waiting, new_here;
    bool arriving;
  };
  const Names both{"summary.json", "figures"}, first{"summary.json"}, last{"figures"}, none;
  const Step steps[] = {{both, none, both, none, false}, {last, first, both, none, false},
                        {none, both, both, none, false}, {none, both, both, none, true},
                        {none, both, first, last, true}, {none, both, none, both, true}};
  for (const Step& step : steps)
    for (const char* command : {"run", "report"}) {
      const ScratchDirectory scratch;
      make(scratch / "old", "old");
      make(scratch / "new", "new");
      const fs::path run = scratch / "run",
                     waiting = run / (step.arriving ? ".weir-arriving" : ".weir-whole");
      fs::create_directories(run / ".weir-replaced");
      fs::create_directories(waiting);
      const auto move = [&](const char* from, const Names& names, const fs::path& to) {
        for (const std::string& name : names) fs::rename(scratch / from / name, to / name);
      };
      move("old", step.old_here, run);
      move("old", step.old_gone, run / ".weir-replaced");
      move("new", step.new_waiting, waiting);
      move("new", step.new_here, run);
      if (command == std::string("report"))
        CHECK(run_weir({"report", run, "--out", run / "page.html"}).code == 0);
      else
        ResultDirectory{run};  // and then its run fails, say
      CHECK_THAT(contents(run / "summary.json"), Catch::Contains("\"new\""));
      CHECK(fs::exists(run / "figures/new"));
      CHECK_FALSE(fs::exists(run / "figures/old"));
      for (const auto& entry : fs::directory_iterator(run))
        CHECK_FALSE(entry.path().filename().string().starts_with("."));
    }
}

TEST_CASE("weir: a run that replaces results says which of them it does not write") {
  const ScratchDirectory scratch;
  const fs::path place = scratch / "out/a";
  REQUIRE(run_small(scratch, "a", {"--timeline"}).code == 0);
  REQUIRE(run_weir({"report", place}).code == 0);
  REQUIRE(run_weir({"plot", place, "--kind", "cdf"}).code == 0);
  const Ended again = run_small(scratch, "a");
  CHECK_THAT(again.err, Catch::Contains("note: removed with the results of before: ") &&
                            Catch::Contains("plots/, report.html, timeline.json\n"));
  CHECK_THAT(run_small(scratch, "a").err, !Catch::Contains("removed"));
  REQUIRE(run_weir({"report", place}).code == 0);
  CHECK(run_small(scratch, "a", {"--quiet"}).err == "");
  CHECK_FALSE(fs::exists(place / "report.html"));
}
