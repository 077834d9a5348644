#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/core/params.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"

using namespace weir;
namespace fs = std::filesystem;

namespace {

// Without the one key that two runs of a serving scenario differ in.
std::string compared(const fs::path& file) {
  const std::string text = test::contents(file);
  if (file.filename() != "summary.json") return text;
  Json summary = Json::parse(text);
  summary["scenario"].erase("actors");  // a training scenario has none
  return summary.dump(2);
}

void check_folded(const fs::path& scenario, const std::vector<std::string>& settings) {
  const ScratchDirectory scratch;
  INFO(scenario.string());
  const bool trains = read_json_file(scenario).value("kind", "") == "training";
  for (const char* actors : {"devices", "groups"}) {
    std::vector<std::string> words = {"run", scenario.string(), "--timeline", "--out", actors};
    words.insert(words.end(), settings.begin(), settings.end());
    if (!trains) words.insert(words.end(), {"--set", fmt::format("/actors=\"{}\"", actors)});
    const test::Ended ended = test::run_weir(words, {.folder = scratch.path()});
    INFO(ended.err);
    REQUIRE(ended.code == 0);
  }
  std::vector<std::string> files = {"summary.json", "requests.csv", "timeseries.csv", "timeline.json"};
  if (trains) files = {"summary.json", "training_steps.csv", "timeline.json"};
  for (const std::string& file : files) {
    REQUIRE(fs::exists(scratch / "devices" / file));
    CHECK(compared(scratch / "devices" / file) == compared(scratch / "groups" / file));
  }
}

}  // namespace

TEST_CASE("weir run: every shipped scenario gives the same bytes twice, with an actor a device and folded") {
  int ran = 0;
  for (const fs::path& scenario : test::shipped_scenarios()) {
    if (scenario.parent_path().filename() == "bench" || scenario.string().ends_with("hermes/openr1.json"))
      continue;  // long; and the latter is hermes/sharegpt with longer answers
    check_folded(scenario, test::made_short(test::name_of_shipped(scenario)));
    ++ran;
  }
  CHECK(ran > 20);
}

TEST_CASE("weir run: long scenarios give the same bytes twice as they are shipped", "[.soak]") {
  int ran = 0;
  for (const fs::path& scenario : test::shipped_scenarios()) {
    if (test::made_short(test::name_of_shipped(scenario)).empty()) continue;
    check_folded(scenario, {});
    ++ran;
  }
  CHECK(ran > 10);
}
