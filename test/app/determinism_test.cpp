#include <catch2/catch.hpp>

#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"

using namespace weir;
namespace fs = std::filesystem;

TEST_CASE("weir run: every shipped scenario runs, and gives the same bytes twice") {
  const ScratchDirectory scratch;
  int ran = 0;
  for (const fs::path& scenario : test::shipped_scenarios()) {
    if (scenario.parent_path().filename() == "bench") continue;  // long
    INFO(scenario.string());
    for (const char* out : {"a", "b"}) {
      const test::Ended ended =
          test::run_weir({"run", scenario.string(), "--timeline", "--out", out}, {.folder = scratch.path()});
      INFO(ended.err);
      REQUIRE(ended.code == 0);
    }
    for (const char* file : {"summary.json", "requests.csv", "timeseries.csv", "timeline.json"}) {
      REQUIRE(fs::exists(scratch / "a" / file));
      CHECK(test::contents(scratch / "a" / file) == test::contents(scratch / "b" / file));
    }
    ++ran;
  }
  CHECK(ran > 20);
}
