#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/core/params.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"

using namespace weir;
namespace fs = std::filesystem;

namespace {

// Without the one key that the two runs differ in.
std::string compared(const fs::path& file) {
  const std::string text = test::contents(file);
  if (file.filename() != "summary.json") return text;
  Json summary = Json::parse(text);
  summary["scenario"].erase("actors");
  return summary.dump(2);
}

}  // namespace

TEST_CASE("weir run: every shipped scenario gives the same bytes twice, with an actor a device and folded") {
  const ScratchDirectory scratch;
  int ran = 0;
  for (const fs::path& scenario : test::shipped_scenarios()) {
    if (scenario.parent_path().filename() == "bench") continue;  // long
    INFO(scenario.string());
    for (const char* actors : {"devices", "groups"}) {
      const test::Ended ended = test::run_weir({"run", scenario.string(), "--timeline", "--out", actors,
                                                "--set", fmt::format("/actors=\"{}\"", actors)},
                                               {.folder = scratch.path()});
      INFO(ended.err);
      REQUIRE(ended.code == 0);
    }
    for (const char* file : {"summary.json", "requests.csv", "timeseries.csv", "timeline.json"}) {
      REQUIRE(fs::exists(scratch / "devices" / file));
      CHECK(compared(scratch / "devices" / file) == compared(scratch / "groups" / file));
    }
    ++ran;
  }
  CHECK(ran > 20);
}
