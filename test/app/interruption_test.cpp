// Ctrl-C, as a terminal sends it to every process of its group, and signals to weir alone: 130, nothing left,
// nobody left behind.
#include <catch2/catch.hpp>

#include <signal.h>

#include <chrono>
#include <random>
#include <thread>

#include "sim/core/params.h"
#include "test/app/made_results.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

std::set<std::string> everything_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) names.insert(entry.path());
  return names;
}

// A gnuplot that would take a minute; `pid` is its process.
std::string slow_gnuplot(const ScratchDirectory& scratch) {
  fs::create_directory(scratch / "bin");
  write(scratch / "bin/gnuplot", "#!/bin/sh\necho $$ > " + (scratch / "pid").string() + "\nexec sleep 60\n");
  fs::permissions(scratch / "bin/gnuplot", fs::perms::owner_all);
  return "PATH=" + (scratch / "bin").string() + ":" + std::getenv("PATH");
}

// No longer than anybody would: a weir that draws nothing has ended.
void wait_for_gnuplot(const ScratchDirectory& scratch) {
  for (int i = 0; i < 6000 && (!fs::exists(scratch / "pid") || fs::is_empty(scratch / "pid")); ++i)
    wait(0.01);
}

}  // namespace

TEST_CASE("weir: a signal while gnuplot draws ends both with 130, whoever gets it, and nothing is left") {
  const ScratchDirectory scratch;
  REQUIRE(run_small(scratch, "a").code == 0);
  const std::string path = slow_gnuplot(scratch);
  const std::vector<std::vector<std::string>> commands = {
      {"plot", "out/a"},
      {"plot", "out/a", "--out", "new"},
      {"run", shipped("quickstart.json"), "--figures", "--out", "out/a"},
      {"reproduce", "validation", "--only", "kernel_", "--figures", "--out", "b"}};
  const std::set<std::string> before = everything_in(scratch / "out");
  for (const auto& command : commands)
    for (const bool group : {false, true}) {
      const Ended ended = run_weir(command, {.folder = scratch.path(),
                                             .environment = {path},
                                             .under = {"setsid"},
                                             .meanwhile = [&](pid_t weir) {
                                               wait_for_gnuplot(scratch);
                                               ::kill(group ? -weir : weir, SIGINT);
                                             }});
      INFO(command[0] << (group ? " and its group: " : ": ") << ended.err);
      CHECK(ended.code == 130);
      CHECK_THAT(ended.err, Catch::EndsWith("weir: interrupted, nothing written\n"));
      CHECK_THAT(ended.err, !Catch::Contains("gnuplot"));
      CHECK(ended.out == "");
      CHECK(everything_in(scratch / "out") == before);
      CHECK(::kill(std::stoi(contents(scratch / "pid")), 0) != 0);  // gnuplot is gone
      fs::remove(scratch / "pid");
      fs::remove(scratch / "new");
    }
  CHECK(scratch.names() == std::set<std::string>{"bin", "out"});
}

TEST_CASE("weir plot: killed, its gnuplot goes with it, and the next one removes what it left") {
  const ScratchDirectory scratch;
  REQUIRE(run_small(scratch, "a").code == 0);
  const std::string path = slow_gnuplot(scratch);
  run_weir({"plot", "out/a"}, {.folder = scratch.path(), .environment = {path}, .meanwhile = [&](pid_t weir) {
                                 wait_for_gnuplot(scratch);
                                 ::kill(weir, SIGKILL);
                               }});
  for (int i = 0; i < 500 && ::kill(std::stoi(contents(scratch / "pid")), 0) == 0; ++i) wait(0.01);
  CHECK(::kill(std::stoi(contents(scratch / "pid")), 0) != 0);
  CHECK(std::distance(fs::directory_iterator(scratch / "out/a/plots"), {}) == 1);  // what it left
  REQUIRE(run_weir({"plot", "out/a", "--kind", "cdf"}, {.folder = scratch.path()}).code == 0);
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(scratch / "out/a/plots"))
    names.insert(entry.path().filename());
  CHECK(names == std::set<std::string>{"cdf.svg", "figures"});
  CHECK(std::distance(fs::directory_iterator(scratch / "out"), {}) == 1);  // no lock
}

TEST_CASE(
    "weir report and plot: signals and kills at any moment leave the old page or figure, or the new one") {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "out/a";
  REQUIRE(run_small(scratch, "a").code == 0);
  REQUIRE(run_weir({"report", run}).code == 0);
  REQUIRE(run_weir({"plot", run, "--kind", "cdf"}).code == 0);
  const std::string page = contents(run / "report.html"), figure = contents(run / "plots/cdf.svg");
  const std::set<std::string> whole = everything_in(scratch / "out");
  std::mt19937 random(1);
  for (int i = 0; i < 24; ++i) {
    const int signal = i % 2 == 0 ? SIGKILL : SIGTERM;
    const std::string command = i % 4 < 2 ? "report" : "plot";
    const double moment = std::uniform_real_distribution<>(0, 0.12)(random);
    std::vector<std::string> words{command, run};
    if (command == "plot") words.insert(words.end(), {"--kind", "cdf"});
    const Ended ended = run_weir(words, {.meanwhile = [&](pid_t weir) {
                                   wait(moment);
                                   ::kill(weir, signal);
                                 }});
    INFO(command << ", signal " << signal << " after " << moment << " s: " << ended.code << " " << ended.err);
    CHECK(contents(run / "report.html") == page);
    CHECK(contents(run / "plots/cdf.svg") == figure);
    if (signal == SIGTERM) CHECK((ended.code == 143 || ended.code == 0));
    if (signal == SIGTERM && ended.code == 143) CHECK(everything_in(scratch / "out") == whole);
    if (signal == SIGTERM) continue;
    REQUIRE(run_weir(words).code == 0);
    CHECK(everything_in(scratch / "out") == whole);
  }
}
