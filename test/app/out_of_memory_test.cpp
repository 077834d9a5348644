// Memory that runs out, wherever it does: "out of memory" and exit 1; and a stack that is too small to begin
// with.
#include <catch2/catch.hpp>

#include <signal.h>

#include "sim/app/child_process.h"
#include "sim/core/params.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;

namespace {

// 512 actors, each of which SimGrid gives 32 MiB of address space.
std::string wide_scenario(const ScratchDirectory& scratch) {
  Json scenario = read_json_file(shipped("quickstart.json"));
  scenario["cluster"]["nodes"] = {{{"count", 64},
                                   {"devices", {{{"kind", "h100_sxm"}, {"count", 8}}}},
                                   {"interconnect", "nvlink4_switch"}}};
  scenario["serving"]["replicas"][0]["count"] = 64;
  scenario["serving"]["replicas"][0]["parallelism"] = {{"tensor", 8}};
  return write(scratch / "wide.json", scenario.dump());
}

Ended within(const std::string& limit, const std::vector<std::string>& words,
             const ScratchDirectory& scratch) {
  std::vector<std::string> all = words;
  return run_weir(all, {.folder = scratch.path(), .under = {"sh", "-c", limit + "; exec \"$0\" \"$@\""}});
}

}  // namespace

#ifndef __SANITIZE_ADDRESS__
TEST_CASE("weir: a limit on memory, whatever it is, ends a run whole or with \"out of memory\" and 1") {
  const ScratchDirectory scratch;
  const std::string wide = wide_scenario(scratch);
  int out_of_memory = 0;
  for (int kib = 100'000; kib <= 1'200'000; kib += 50'000) {
    const Ended ended =
        within(fmt::format("ulimit -v {}", kib), {"run", wide, "--quiet", "--out", "out"}, scratch);
    INFO(kib << " KiB: " << ended.code << "\n" << ended.err);
    if (ended.code == 0 || ended.code == 127) {  // 127: no room for its libraries
      CHECK((ended.code == 127 || ended.err.empty()));
      continue;
    }
    ++out_of_memory;
    CHECK(ended.code == 1);
    CHECK_THAT(ended.err, Catch::Contains("weir: out of memory") && !Catch::Contains("Backtrace") &&
                              !Catch::Contains("->"));
  }
  CHECK(out_of_memory > 5);
}

TEST_CASE("weir sweep: points that run out of memory say so, and not where SimGrid stood") {
  const ScratchDirectory scratch;
  const std::string wide = wide_scenario(scratch);
  write(scratch / "sweep.json",
        R"({"scenario": "wide.json", "vary": {"/seed": [1, 2]}, "limits": {"memory_gib": 0.5}})");
  const Ended ended = run_weir({"sweep", "sweep.json", "--out", "out"}, {.folder = scratch.path()});
  CHECK(ended.code == 3);
  const std::string table = contents(scratch / "out/results.csv");
  INFO(ended.err << table);
  CHECK_THAT(ended.err + table,
             Catch::Contains("out of memory") && !Catch::Contains("#") && !Catch::Contains("->"));
}

TEST_CASE("children: one that throws for want of memory, and one that the system kills, say what it was") {
  std::vector<std::string> errors(2);
  in_children(
      2, 1,
      [](std::size_t i) -> std::string {
        if (i == 0) throw std::bad_alloc();
        ::raise(SIGKILL);
        return "";
      },
      [&](std::size_t i, ChildResult result) {
        errors[i] = result.error;
        return true;
      });
  CHECK(errors[0] == "out of memory");
  CHECK_THAT(errors[1], Catch::Contains("signal 9") && Catch::Contains("memory runs out"));
}
#endif

TEST_CASE("weir: a stack of 64 KiB is an error, and no crash") {
  const ScratchDirectory scratch;
  for (const auto& words :
       {std::vector<std::string>{"check", shipped("quickstart.json")}, {"list", "models"}}) {
    const Ended ended = within("ulimit -s 64", words, scratch);
    CHECK(ended.code == 1);
    CHECK(ended.err == "weir: the stack is limited to 64 KiB, and 1024 are needed (ulimit -s 1024)\n");
  }
}
