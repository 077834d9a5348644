// The front end's clock by hand: requests in, tokens out, one by one.
#include "sim/serving/replica/front_end.h"

#include <catch2/catch.hpp>

using namespace weir;

namespace {

std::vector<double> of(std::span<const Seconds> times) {
  std::vector<double> values;
  for (const Seconds time : times) values.push_back(time.value());
  return values;
}

FrontEndSpec spec(double per_request, double per_token, std::optional<double> requests,
                  std::optional<double> tokens) {
  return {Seconds(per_request), Seconds(per_token), requests, tokens};
}

StepRun run_of(double first, double slope, std::int64_t steps) {
  StepRun run;
  run.first.time = Seconds(first);
  run.slope.time = Seconds(slope);
  run.steps = steps;
  return run;
}

}  // namespace

TEST_CASE("front end: a request waits for its turn, then takes its own time and that of its prompt") {
  FrontEnd front(spec(3, 0.5, 0.25, {}), Seconds(100));
  // Turns take 4 s. The first two come at 10 s: these end at 14 and 18 s; one that comes at 30 s finds none
  // before it.
  CHECK(front.passes(Seconds(10), 6).value() == Approx(14 + 3 + 3));
  CHECK(front.passes(Seconds(10), 2).value() == Approx(18 + 3 + 1));
  CHECK(front.passes(Seconds(30), 0).value() == Approx(34 + 3));
  // Without turns the two others are each request's own.
  FrontEnd alone(spec(3, 0.5, {}, {}), Seconds(100));
  CHECK(alone.passes(Seconds(10), 6).value() == Approx(16));
  CHECK(alone.passes(Seconds(10), 2).value() == Approx(14));
  FrontEnd prompts(spec(0, 0.5, {}, {}), Seconds(0));
  CHECK(prompts.passes(Seconds(10), 6).value() == Approx(13));
  FrontEnd turns(spec(0, 0, 0.25, {}), Seconds(0));
  CHECK(turns.passes(Seconds(10), 6).value() == Approx(14));
  FrontEnd none({}, Seconds(7));
  CHECK(none.passes(Seconds(10), 6).value() == Approx(10));
  CHECK_FALSE(none.one_by_one());
  CHECK(none.seen(Seconds(10)).value() == Approx(17));
}

TEST_CASE("front end: tokens of a step leave behind those of the steps before, and are seen a reply later") {
  FrontEnd front(spec(0, 0, {}, 2), Seconds(100));
  REQUIRE(front.one_by_one());
  // Three tokens from 10 s on are gone at 11.5 s, four more at 13.5 s; a step at 20 s finds none before it.
  CHECK(front.turn(Seconds(10), 3).value() == Approx(110));
  CHECK(front.turn(Seconds(11), 4).value() == Approx(111.5));
  CHECK(front.turn(Seconds(20), 1).value() == Approx(120));
  // A token with two before it is seen three tokens' times behind the turn.
  CHECK(front.seen(Seconds(110), 2).value() == Approx(111.5));
  CHECK(front.seen(Seconds(110), 0).value() == Approx(110.5));
}

TEST_CASE("front end: of a run of steps each has its turn as it ends, or behind the one before") {
  // Steps end at 12, 15, 19, 24 and, of the next piece, 25 and 26 s, with two tokens of 1 s each.
  const std::vector<StepRun> runs = {run_of(2, 1, 4), run_of(1, 0, 5)};
  FrontEnd front(spec(0, 0, {}, 1), Seconds(0.25));
  CHECK(of(front.turns(Seconds(10), runs, 6, 2)) ==
        std::vector<double>{12.25, 15.25, 19.25, 24.25, 26.25, 28.25});
  // The next ones wait until the last are gone at 30 s.
  CHECK(of(front.turns(Seconds(26), {run_of(1, 0, 9)}, 2, 3)) == std::vector<double>{30.25, 33.25});
}
