#include <catch2/catch.hpp>
#include <cmath>

#include "models/machine/availability.h"

using namespace weir;

TEST_CASE("availability: a speed is in force from its time on, 1 before the first") {
  const Availability twice{{{Seconds(1), 0.5}, {Seconds(3), 2}}, {}};
  CHECK(twice.speed_at(Seconds(0)) == 1);
  CHECK(twice.speed_at(Seconds(std::nextafter(1, 0))) == 1);
  CHECK(twice.speed_at(Seconds(1)) == 0.5);
  CHECK(twice.speed_at(Seconds(std::nextafter(3, 0))) == 0.5);
  CHECK(twice.speed_at(Seconds(3)) == 2);
  CHECK(twice.next_change(Seconds(0)) == Seconds(1));
  CHECK(twice.next_change(Seconds(1)) == Seconds(3));
  CHECK(std::isinf(twice.next_change(Seconds(3)).value()));
  CHECK_FALSE(twice.always());
  CHECK(Availability().always());
}

TEST_CASE("availability: a device stops at the first time that it is off") {
  CHECK_FALSE(Availability().stops());
  CHECK_FALSE(Availability{{}, {{Seconds(2), true}}}.stops());
  CHECK(Availability{{}, {{Seconds(2), true}, {Seconds(4), false}, {Seconds(5), true}}}.stops() ==
        Seconds(4));
}
