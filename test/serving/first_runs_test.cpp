// The table of first runs is a map.
#include "sim/serving/kv/blocks/first_runs.h"

#include <catch2/catch.hpp>
#include <map>

#include "test/policies/dice.h"

using namespace weir;

TEST_CASE("KV runs: the table of first runs has what a map has, whatever comes and goes", "[prefixes]") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Dice dice(seed);
    FirstRuns table;
    std::map<std::int32_t, std::int32_t> map;
    const std::int64_t texts = dice(1, 400), stride = dice(0, 1) ? 1 : 64;
    for (int change = 0; change < 2000; ++change) {
      const auto text = static_cast<std::int32_t>(dice(0, texts) * stride);
      if (map.contains(text) && dice(0, 1)) {
        table.erase(text);
        map.erase(text);
      } else {
        if (!map.contains(text)) REQUIRE(table[text] == FirstRuns::none);
        table[text] = map[text] = change;
      }
      const auto asked = static_cast<std::int32_t>(dice(0, texts) * stride);
      REQUIRE(table.find(asked) == (map.contains(asked) ? map[asked] : FirstRuns::none));
      REQUIRE(table.empty() == map.empty());
    }
    for (const auto& [text, run] : map) REQUIRE(table.find(text) == run);
  }
}
