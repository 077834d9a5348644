// Choices of a runtime at their ties, and the units that each kind needs.
#include <catch2/catch.hpp>

#include "test/policies/runtime/random_snapshot.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("runtime: spare cores run what they end sooner than the CPU, and not what they end with it",
          "[runtime]") {
  using Place = OperatorPlace;
  const auto runtime = make_runtime({{"kind", "spare_cores"}});
  const std::vector<PlaceOption> options = {{Place::cpu, Seconds(3)}, {Place::programmable, Seconds(5)}};
  CHECK(runtime->choose({}, options) == 0);
  CHECK(runtime->choose({.cpu = Seconds(2)}, options) == 0);  // both end after 5
  CHECK(runtime->choose({.cpu = Seconds(2.5)}, options) == 1);
  CHECK(runtime->choose({.cpu = Seconds(2.5), .programmable = Seconds(1)}, options) == 0);
  CHECK(runtime->choose({.cpu = Seconds(2.5), .gpu = Seconds(9), .pairs = Seconds(9)}, options) == 1);
}

TEST_CASE("runtime: where both would end at once a candidate stays with its place in the memory",
          "[runtime]") {
  using Place = OperatorPlace;
  const auto sooner = make_runtime({{"kind", "hetero_pim"}, {"when_busy", "sooner"}});
  const std::vector<PlaceOption> options = {{Place::programmable, Seconds(2)}, {Place::cpu, Seconds(4)}};
  CHECK(sooner->choose({.cpu = Seconds(1), .programmable = Seconds(3)}, options) == 0);  // 5 and 5
  CHECK(sooner->choose({.cpu = Seconds(0.5), .programmable = Seconds(3)}, options) == 1);
  CHECK(sooner->choose({.cpu = Seconds(0), .programmable = Seconds(1.5)}, options) == 0);
}

TEST_CASE("runtime: each kind needs the units that it uses and no others", "[runtime]") {
  const auto needs = [](const char* kind) { return make_runtime({{"kind", kind}})->needs(); };
  CHECK(needs("cpu_only") == RuntimeUnits{});
  CHECK(needs("gpu_only") == RuntimeUnits{.gpu = true});
  CHECK(needs("progr_pim") == RuntimeUnits{.programmable = true});
  CHECK(needs("fixed_pim") == RuntimeUnits{.fixed_function = true});
  CHECK(needs("hetero_pim") == RuntimeUnits{.programmable = true, .fixed_function = true});
  CHECK(needs("spare_cores") == RuntimeUnits{.programmable = true});
}
