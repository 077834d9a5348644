// speed_profile, state_profile and index of a device entry, as they are read.
#include <catch2/catch.hpp>

#include "sim/core/errors.h"
#include "sim/plan/plan.h"
#include "test/serving/run_in_child.h"

using namespace weir;

namespace {

const std::string entry = "/cluster/nodes/0/devices/0";

Json scenario_with(const Json& keys) {
  Json scenario = test::small_scenario();
  scenario["cluster"]["nodes"][0]["devices"][0]["count"] = 2;
  scenario["cluster"]["nodes"][0]["devices"][0].update(keys);
  return scenario;
}

void check_problem(const Json& keys, const std::string& pointer, const std::string& what) {
  INFO(keys.dump());
  try {
    read_plan(scenario_with(keys), "test.json");
    FAIL("it was taken");
  } catch (const ConfigError& error) {
    REQUIRE(error.problems().size() == 1);
    CHECK(error.problems()[0].pointer == entry + pointer);
    CHECK_THAT(error.problems()[0].what, Catch::Contains(what));
  }
}

}  // namespace

TEST_CASE("availability: profiles are of all of an entry's devices, or of the one with its index") {
  const Json slow = {{"speed_profile", {{1, 0.5}, {2, 1}}}};
  const DeviceGroup all = read_plan(scenario_with(slow), "test.json").scenario.nodes[0].devices[0];
  REQUIRE(all.availability_of(0));
  CHECK(all.availability_of(1) == all.availability_of(0));
  CHECK(all.availability_of(0)->speed_at(Seconds(1.5)) == 0.5);
  Json one = slow;
  one["index"] = 1;
  const DeviceGroup second = read_plan(scenario_with(one), "test.json").scenario.nodes[0].devices[0];
  CHECK_FALSE(second.availability_of(0));
  CHECK(second.availability_of(1));
  CHECK_FALSE(
      read_plan(scenario_with(Json::object()), "test.json").scenario.nodes[0].devices[0].availability_of(0));
}

TEST_CASE("availability: the first and the last time, and the slowest and the fastest, are taken") {
  const auto taken = [](const Json& keys) { CHECK_NOTHROW(read_plan(scenario_with(keys), "test.json")); };
  taken({{"speed_profile", {{0, 0.001}, {1e9, 1000}}}});
  taken({{"state_profile", {{0, 0}, {1e9, 1}}}, {"index", 1}});
  check_problem({{"speed_profile", {{0, 0.00099}}}}, "/speed_profile/0", "a factor between 0.001 and 1000");
  check_problem({{"speed_profile", {{0, 1000.1}}}}, "/speed_profile/0", "a factor between 0.001 and 1000");
  check_problem({{"state_profile", {{1.1e9, 0}}}}, "/state_profile/0", "a time from 0 to 1e+09");
}

TEST_CASE("availability: what is no profile is told at its entry") {
  check_problem({{"speed_profile", {{1, -0.5}}}}, "/speed_profile/0", "a factor between 0.001 and 1000");
  check_problem({{"speed_profile", {{1, 0}}}}, "/speed_profile/0", "a factor between 0.001 and 1000");
  check_problem({{"speed_profile", {{-1, 0.5}}}}, "/speed_profile/0", "a time from 0");
  check_problem({{"speed_profile", {{2, 0.5}, {1, 1}}}}, "/speed_profile/1", "times that ascend");
  check_problem({{"speed_profile", {{2, 0.5}, {2, 1}}}}, "/speed_profile/1", "times that ascend");
  check_problem({{"speed_profile", "slow"}}, "/speed_profile", "expected a list");
  check_problem({{"speed_profile", {{1, "slow"}}}}, "/speed_profile/0", "a factor between 0.001 and 1000");
  check_problem({{"speed_profile", {{1, 0.5, 2}}}}, "/speed_profile/0", "a factor between 0.001 and 1000");
  check_problem({{"state_profile", {{1, 0.5}}}}, "/state_profile/0", "0 or 1");
  check_problem({{"state_profile", {{1, 0}, {0, 1}}}}, "/state_profile/1", "times that ascend");
  check_problem({{"state_profile", {{1, 0}}}, {"index", 2}}, "/index", "one of the entry's 2 devices");
  check_problem({{"state_profile", {{1, 0}}}, {"index", -1}}, "/index", "");
  check_problem({{"index", 1}}, "/index", "neither a speed_profile nor a state_profile");
}

TEST_CASE("availability: all that is wrong with a profile is told at once") {
  try {
    read_plan(
        scenario_with({{"speed_profile", {{1, -1}, {2, 0}}}, {"state_profile", {{3, 7}}}, {"index", 9}}),
        "test.json");
    FAIL("it was taken");
  } catch (const ConfigError& error) {
    CHECK(error.problems().size() == 4);
  }
}
