// Figures as a user asks for them, with gnuplot and without.
#include <catch2/catch.hpp>

#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

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

TEST_CASE("weir run --figures: without gnuplot it says how to get it, and writes the results") {
  const ScratchDirectory scratch;
  const HowToRun without{.folder = scratch.path(), .environment = {"PATH=/nowhere"}};
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"run", shipped("quickstart.json"), "--out", "a", "--set",
                                 "/workload/requests/count=5"},
        {"reproduce", "validation", "--only", "kernel_", "--out", "a"}}) {
    std::vector<std::string> with_figures = command;
    with_figures.push_back("--figures");
    const Ended ended = run_weir(with_figures, without);
    INFO(command[0] << ": " << ended.err);
    CHECK(ended.code == 0);
    CHECK_THAT(ended.err, Catch::StartsWith("note: no figures: they need gnuplot"));
    CHECK_THAT(ended.err, Catch::Contains("apt-get install gnuplot-nox"));
    CHECK_FALSE(fs::exists(scratch / "a/figures"));
    CHECK(fs::exists(scratch / "a" / (command[0] == "run" ? "summary.json" : "reproduce.json")));
  }
}

TEST_CASE("weir plot: without gnuplot there is nothing that it could do") {
  const ScratchDirectory scratch;
  REQUIRE(run_small(scratch, "a").code == 0);
  const Ended ended =
      run_weir({"plot", "out/a"}, {.folder = scratch.path(), .environment = {"PATH=/nowhere"}});
  CHECK(ended.code == 1);
  CHECK_THAT(ended.err, Catch::Contains("apt-get install gnuplot-nox"));
}
