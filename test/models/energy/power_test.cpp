// What clocks make of a step's watts: laws over random devices and draws, and the edges.
#include "models/energy/power.h"

#include <catch2/catch.hpp>
#include <random>

using namespace weir;

namespace {

PowerSpec clocked(double idle, double active, double limit, double sustained) {
  PowerSpec power;
  power.idle = Watts(idle);
  power.active = Watts(active);
  power.tdp = Watts(limit);
  power.sustained = sustained;
  power.clocked = true;
  return power;
}

class Draws {
 public:
  explicit Draws(unsigned seed) : random_(seed) {}
  double operator()(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

  PowerSpec power() { return clocked((*this)(0, 200), (*this)(0, 150), (*this)(400, 1000), (*this)(0.6, 1)); }

  PowerDraw draw() {
    return {Seconds((*this)(0, 0.02)), Seconds((*this)(1e-4, 0.02)), Joules((*this)(0, 20)),
            Joules((*this)(0, 10))};
  }

 private:
  std::mt19937_64 random_;
};

Seconds at_full_clocks(const PowerDraw& draw) {
  return draw.compute + draw.rest;
}

ClockedDraw kept(const PowerSpec& power, const PowerDraw& draw) {
  return at_level(power, draw, clock_level(power, draw));
}

Watts watts(const PowerSpec& power, const ClockedDraw& taken) {
  return power.idle + power.active + Watts(taken.energy.value() / taken.time.value());
}

}  // namespace

TEST_CASE("power: mean watts never exceed the limit nor fall below idle, whatever the work") {
  Draws draws(1);
  int limited = 0, waits = 0;
  for (int i = 0; i < 20000; ++i) {
    const PowerSpec power = draws.power();
    const PowerDraw draw = draws.draw();
    const ClockedDraw taken = kept(power, draw);
    REQUIRE(watts(power, taken).value() <= power.tdp.value() * (1 + 1e-12));
    REQUIRE(watts(power, taken) >= power.idle);
    REQUIRE(taken.time >= at_full_clocks(draw));
    const int level = clock_level(power, draw);
    if (level > 0) CHECK(watts(power, taken).value() == Approx(power.tdp.value()));
    limited += level > 0;
    waits += level == lowest_clock_level;
  }
  CHECK((limited > 5000 && limited < 19000 && waits > 100));
}

TEST_CASE("power: more work is never fewer joules nor less time") {
  Draws draws(2);
  for (int i = 0; i < 20000; ++i) {
    const PowerSpec power = draws.power();
    const PowerDraw draw = draws.draw();
    const ClockedDraw less = kept(power, draw);
    for (int what = 0; what < 4; ++what) {
      PowerDraw more = draw;
      const double factor = draws(1, 1.1);
      if (what == 0) more.compute = factor * more.compute;
      if (what == 1) more.rest = factor * more.rest;
      if (what == 2) more.clocked = factor * more.clocked;
      if (what == 3) more.other = factor * more.other;
      const ClockedDraw taken = kept(power, more);
      const auto all = [&](const ClockedDraw& of) {
        return (power.idle + power.active) * of.time + of.energy;
      };
      // Time without joules lets the clocks rise: all may be shorter by a step of them.
      const double step = what <= 1 ? 1 - 1. / 66 : 1 - 1e-12;
      REQUIRE(taken.time.value() >= step * less.time.value());
      REQUIRE(all(taken).value() >= step * all(less).value());
    }
  }
}

TEST_CASE("power: what the limit allows takes its joules at full clocks, and a little more takes the limit") {
  PowerSpec power = clocked(70, 130, 700, 0.8);
  const PowerDraw just{Seconds(0.5), Seconds(0.5), Joules(400), Joules(100)};  // 500 W above 200
  CHECK(clock_level(power, just) == 0);
  CHECK(kept(power, just).energy == Joules(500));
  PowerDraw more = just;
  more.other = Joules(100.001);
  CHECK(clock_level(power, more) == 1);
  CHECK(kept(power, more).time == Seconds(1));  // the sustained clocks are not reached
  power.clocked = false;
  CHECK(clock_level(power, more) == 0);
}

TEST_CASE("power: down to the sustained clocks nothing slows, below them what is bound by arithmetic does") {
  const PowerSpec power = clocked(70, 130, 700, 0.8);
  const auto drawing = [](double compute, double clocked, double other) {
    return PowerDraw{Seconds(compute), Seconds(1 - compute), Joules(clocked), Joules(other)};
  };
  // 70 + 130 x 0.8^3 + 0.8^2 x clocked = 700 at the sustained clocks.
  const double edge = (700 - 70 - 130 * 0.512) / 0.64;
  for (const double clocked : {0.7 * edge, 0.9 * edge, 0.98 * edge})
    CHECK(kept(power, drawing(1, clocked, 0)).time == Seconds(1));
  const ClockedDraw beyond = kept(power, drawing(1, 1.3 * edge, 0));
  const double clock = clock_share(clock_level(power, drawing(1, 1.3 * edge, 0)));
  CHECK(beyond.time.value() == Approx(0.8 / clock));
  CHECK((beyond.time > Seconds(1) && beyond.time < Seconds(1.15)));  // 130 % of the work
  // What memory binds takes no longer, until no clocks are low enough for its joules.
  CHECK(kept(power, drawing(0, 1.3 * edge, 0)).time == Seconds(1));
  const PowerDraw heavy = drawing(0, 0, 1000);
  CHECK(clock_level(power, heavy) == lowest_clock_level);
  CHECK(kept(power, heavy).time.value() > 1.5);
}

TEST_CASE("power: at one level twice the draw is twice the time and joules") {
  Draws draws(3);
  for (int i = 0; i < 2000; ++i) {
    const PowerSpec power = draws.power();
    const PowerDraw a = draws.draw(), b = draws.draw();
    const PowerDraw sum{a.compute + 3. * b.compute, a.rest + 3. * b.rest, a.clocked + 3. * b.clocked,
                        a.other + 3. * b.other};
    for (const int level : {0, 1, 40, lowest_clock_level - 1, lowest_clock_level}) {
      const ClockedDraw one = at_level(power, a, level), two = at_level(power, b, level),
                        both = at_level(power, sum, level);
      CHECK(both.time.value() == Approx((one.time + 3. * two.time).value()).epsilon(1e-12));
      CHECK(both.energy.value() == Approx((one.energy + 3. * two.energy).value()).epsilon(1e-12));
    }
  }
}

// 500 W are left above 200 at full clocks, and 113.75 W more at half of them, where `active` draws an eighth.
TEST_CASE("power by hand: times and joules at a level in the middle and at the last two") {
  const PowerSpec power = clocked(70, 130, 700, 0.8);
  const PowerDraw draw{Seconds(0.3), Seconds(0.5), Joules(400), Joules(50)};
  CHECK(clock_share(1) == Approx(131. / 132));
  CHECK(clock_share(33) == 0.75);
  CHECK((clock_share(66) == 0.5 && clock_share(67) == 0.5));
  CHECK(at_level(power, draw, 0).time.value() == Approx(0.8));
  CHECK(at_level(power, draw, 0).energy == Joules(450));
  CHECK(at_level(power, draw, 13).time.value() == Approx(0.8));  // still above the sustained clocks
  CHECK(at_level(power, draw, 33).time.value() == Approx(0.3 * 0.8 / 0.75 + 0.5));
  CHECK(at_level(power, draw, 33).energy.value() == Approx(500 * (0.32 + 0.5)));
  CHECK(at_level(power, draw, 66).time.value() == Approx(0.3 * 0.8 / 0.5 + 0.5));
  CHECK(at_level(power, draw, 67).time.value() == Approx((50 + 0.25 * 400) / 613.75));
  CHECK(at_level(power, draw, 67).energy.value() == Approx(500 * 150 / 613.75));
  // At three quarters 700 - 70 - 130 x 27/64 W are left, and 9/16 of 400 J are switched in 0.82 s.
  const double left = 0.82 * (630 - 130 * 27. / 64) - 225;
  CHECK_FALSE(exceeds_limit(power, {Seconds(0.3), Seconds(0.5), Joules(400), Joules(left - 1e-6)}, 33));
  CHECK(exceeds_limit(power, {Seconds(0.3), Seconds(0.5), Joules(400), Joules(left + 1e-6)}, 33));
  CHECK_FALSE(exceeds_limit(power, {Seconds(0.3), Seconds(0.5), Joules(400), Joules(1e6)}, 67));
}

TEST_CASE("power by hand: dynamic joules of flops, memory and links, each at its own") {
  PowerSpec power;
  power.per_flop = JoulesPerFlop(2);
  power.per_byte = JoulesPerByte(3);
  power.per_link_byte = JoulesPerByte(5);
  CHECK(power.dynamic(Flops(7), Bytes(11), Bytes(13)) == Joules(14 + 33 + 65));
}
