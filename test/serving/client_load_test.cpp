// What lies between clients and schedulers: round trips, front ends, steps decided ahead, a start anew.
#include <catch2/catch.hpp>

#include <algorithm>

#include "test/serving/random_scenario.h"

using namespace weir;
using weir::test::Outcome;
using weir::test::random_scenario;
using weir::test::small_scenario;

namespace {

Json of_fixed(int count, int input_tokens, int output_tokens, const Json& arrivals) {
  Json scenario = small_scenario();
  scenario["workload"] = {{"requests",
                           {{"kind", "fixed"},
                            {"count", count},
                            {"input_tokens", input_tokens},
                            {"output_tokens", output_tokens}}},
                          {"arrivals", arrivals}};
  scenario["serving"]["replicas"][0]["engine"] = {{"front_end_ms", 0}};
  return scenario;
}

Json in_loop(int count, int concurrency, int warmup = 0) {
  return of_fixed(count, 300, 20,
                  {{"kind", "closed_loop"}, {"concurrency", concurrency}, {"warmup_requests", warmup}});
}

Json& engine_of(Json& scenario) {
  return scenario["serving"]["replicas"][0]["engine"];
}

Outcome outcome_of(const Json& scenario) {
  Outcome o = test::run(scenario);
  REQUIRE(o.error == "");
  return o;
}

double ms(Seconds time) {
  return 1e3 * time.value();
}
double ttft_ms(const RequestRecord& r) {
  return ms(r.first_token - r.request.arrival);
}
double e2el_ms(const RequestRecord& r) {
  return ms(r.finished - r.request.arrival);
}

// A random scenario with any of the keys, each in some; a warm-up, of which laws know nothing, if `warm`.
Json random_front_end(unsigned seed, bool warm) {
  Json scenario = random_scenario(seed, true);
  for (Json& replica : scenario["serving"]["replicas"]) {
    Json& engine = replica["engine"];
    if (seed % 2 == 0) engine["front_end_ms"] = 3.5;
    if (seed % 3 == 0) engine["front_end_us_per_token"] = 11;
    if (seed % 5 < 2) engine["front_end_requests_per_s"] = 7 + seed % 40;
    if (seed % 7 < 4) engine["front_end_tokens_per_s"] = 300 * (1 + seed % 11);
    if (seed % 4 != 0) engine["scheduled_ahead_steps"] = seed % 4;
    if (seed % 5 > 2) engine["scheduler_recv_interval"] = 2 + seed % 12;
  }
  if (seed % 3 != 1) {
    Json& arrivals = scenario["workload"]["arrivals"];
    arrivals = {{"kind", "closed_loop"}, {"concurrency", 3 + seed % 9}, {"round_trip_ms", seed % 13}};
    if (warm && seed % 2 == 1) arrivals["warmup_requests"] = 5, arrivals["restart_after_warmup"] = true;
  }
  return scenario;
}

}  // namespace

TEST_CASE("front end: requests, tokens and blocks are conserved, whatever passes it", "[engine]") {
  for (unsigned seed = 300; seed < 350; ++seed) {
    const Json scenario = random_front_end(seed, false);
    INFO(scenario.dump());
    test::check_laws(scenario, test::run(scenario));
  }
}

TEST_CASE("front end: fast-forward gives every request the times of stepping one by one", "[engine]") {
  for (unsigned seed = 400; seed < 460; ++seed) {
    Json scenario = random_front_end(seed, true);
    const Outcome fast = test::run(scenario);
    scenario["fast_forward"] = false;
    INFO(scenario.dump());
    test::check_same(fast, test::run(scenario));
  }
}

TEST_CASE("front end: a request alone has its times and its way there and back in its TTFT", "[engine]") {
  const Json plain = in_loop(1, 1);
  const RequestRecord without = outcome_of(plain).requests[0];
  Json scenario = plain;
  engine_of(scenario) = {{"front_end_ms", 4}, {"front_end_us_per_token", 10}, {"scheduled_ahead_steps", 3}};
  scenario["workload"]["arrivals"]["round_trip_ms"] = 6;
  const RequestRecord with = outcome_of(scenario).requests[0];
  CHECK(ttft_ms(with) == Approx(ttft_ms(without) + 4 + 300 * 0.01 + 6).epsilon(1e-9));
  CHECK(e2el_ms(with) == Approx(e2el_ms(without) + 4 + 300 * 0.01 + 6).epsilon(1e-9));
  CHECK(ms(with.scheduled - with.request.arrival) == Approx(3 + 4 + 3).epsilon(1e-9));
}

TEST_CASE("front end: requests that come at once pass one after another", "[engine]") {
  Json scenario = of_fixed(5, 100, 4, {{"kind", "all_at_once"}});
  engine_of(scenario) = {{"kind", "ideal"}, {"front_end_requests_per_s", 2}};
  const Outcome o = outcome_of(scenario);
  for (std::size_t i = 0; i < 5; ++i)  // a step takes some ms, half a second apart they meet no other's
    CHECK(o.requests[i].scheduled.value() == Approx(0.5 * static_cast<double>(i + 1)).epsilon(1e-9));
}

TEST_CASE("front end: tokens leave one by one, as fast as it lets them, and delay no step", "[engine]") {
  const Json plain = of_fixed(4, 100, 50, {{"kind", "all_at_once"}});
  const Outcome without = outcome_of(plain);
  Json scenario = plain;
  engine_of(scenario)["front_end_tokens_per_s"] = 100;  // the engine's steps give 400 and more
  const Outcome with = outcome_of(scenario);
  CHECK(with.iterations == without.iterations);
  // All four prompts are in the first step, whose tokens leave from its end on; nothing is idle after it.
  const double begin = without.requests[0].first_token.value();
  for (std::size_t i = 0; i < 4; ++i) {
    const auto place = static_cast<double>(i + 1);
    CHECK(with.requests[i].scheduled == without.requests[i].scheduled);
    CHECK(with.requests[i].first_token.value() == Approx(begin + 0.01 * place).epsilon(1e-9));
    CHECK(with.requests[i].finished.value() == Approx(begin + 0.01 * (4 * 49 + place)).epsilon(1e-9));
  }
  CHECK(with.gap_mean == Approx(0.04).epsilon(1e-9));
  CHECK(with.gap_count == without.gap_count);
}

TEST_CASE("front end: one that is never full adds a token's time and no more", "[engine]") {
  const Json plain = of_fixed(1, 100, 50, {{"kind", "all_at_once"}});
  const RequestRecord without = outcome_of(plain).requests[0];
  Json scenario = plain;
  engine_of(scenario)["front_end_tokens_per_s"] = 10'000;
  const RequestRecord with = outcome_of(scenario).requests[0];
  CHECK(ttft_ms(with) == Approx(ttft_ms(without) + 0.1).epsilon(1e-9));
  CHECK(e2el_ms(with) == Approx(e2el_ms(without) + 0.1).epsilon(1e-9));
}

TEST_CASE("scheduled ahead: who comes in the middle of a step waits for it and for those decided",
          "[engine]") {
  // The second comes while the first decodes alone, in steps of the same time but for its own growth.
  const auto second = [](int ahead) {
    Json scenario = of_fixed(2, 200, 300, {{"kind", "constant"}, {"rate_per_s", 1}});
    engine_of(scenario) = {{"kind", "ideal"}, {"scheduled_ahead_steps", ahead}};
    return outcome_of(scenario);
  };
  const Outcome at_once = second(0);
  const RequestRecord& first = at_once.requests[0];
  REQUIRE(first.finished.value() > 1.1);  // it still decodes
  const double step = (first.finished - first.first_token).value() / 299;
  const double wait = at_once.requests[1].scheduled.value() - 1;
  CHECK(wait > 0);
  CHECK(wait < 1.01 * step);
  for (const int ahead : {1, 2, 5}) {
    const double longer = second(ahead).requests[1].scheduled.value() - 1 - wait;
    CHECK(longer / step == Approx(ahead).epsilon(0.02));
  }
}

TEST_CASE("recv interval: decodes go on for so many steps before who has come is seen", "[engine]") {
  // The second comes while the first decodes alone: the prompt was the last step after which the engine
  // looked.
  const auto steps_waited = [](int interval, double arrives) {
    Json scenario = of_fixed(2, 200, 300, {{"kind", "constant"}, {"rate_per_s", 1 / arrives}});
    engine_of(scenario) = {{"kind", "ideal"}, {"scheduler_recv_interval", interval}};
    const Outcome o = outcome_of(scenario);
    const RequestRecord& first = o.requests[0];
    REQUIRE(first.finished.value() > 1.1 * arrives);
    const double step = (first.finished - first.first_token).value() / 299;
    return (o.requests[1].scheduled - first.first_token).value() / step;
  };
  for (const double arrives : {0.4, 0.7, 1.0})
    for (const int interval : {7, 30}) {
      const double at_once = steps_waited(1, arrives), waited = steps_waited(interval, arrives);
      CHECK(waited == Approx(interval * std::ceil((at_once - 0.5) / interval)).epsilon(0.01));
    }
}

TEST_CASE("scheduled ahead: the place of one that ended is free a step later", "[engine]") {
  const auto outcome = [](int ahead) {
    Json scenario = of_fixed(2, 200, 30, {{"kind", "all_at_once"}});
    scenario["workload"]["requests"] = {
        {"kind", "fixed"}, {"count", 3}, {"input_tokens", 200}, {"output_tokens", 30}};
    auto& replica = scenario["serving"]["replicas"][0];
    replica["batching"] = {{"kind", "chunked_prefill"}, {"max_batch_requests", 2}, {"max_batch_tokens", 250}};
    replica["engine"] = {{"kind", "ideal"}, {"scheduled_ahead_steps", ahead}};
    return outcome_of(scenario);
  };
  // Two run, the second a step behind the first, which leaves its seat to the third.
  const Outcome at_once = outcome(0), ahead = outcome(1);
  CHECK(at_once.requests[2].scheduled == at_once.requests[0].finished);
  CHECK(ahead.requests[2].scheduled > ahead.requests[0].finished);
  CHECK(ahead.requests[2].scheduled == ahead.requests[1].finished);  // that one step
}

TEST_CASE("round trip: a closed loop sends the next request when the last token has come back", "[engine]") {
  Json scenario = in_loop(12, 1);
  scenario["workload"]["arrivals"]["round_trip_ms"] = 8;
  const Outcome o = outcome_of(scenario);
  for (std::size_t i = 1; i < 12; ++i) {
    CHECK(ms(o.requests[i].request.arrival - o.requests[i - 1].finished) == Approx(0).margin(1e-6));
    CHECK(ms(o.requests[i].scheduled - o.requests[i].request.arrival) == Approx(4).epsilon(1e-6));
  }
}

TEST_CASE("restart: the measured requests start at once when the last of the warm-up has ended", "[engine]") {
  Json scenario = in_loop(40, 6, 8);
  scenario["workload"]["arrivals"]["round_trip_ms"] = 2;
  const auto arrivals = [](const Outcome& o) {
    Seconds warm(0);
    std::vector<double> measured;
    for (std::size_t i = 0; i < o.requests.size(); ++i)
      if (i < 8)
        warm = std::max(warm, o.requests[i].finished);
      else
        measured.push_back(ms(o.requests[i].request.arrival));
    return std::pair(ms(warm), measured);
  };
  const auto [plain_end, plain] = arrivals(outcome_of(scenario));
  CHECK(plain[0] < plain_end - 1);
  scenario["workload"]["arrivals"]["restart_after_warmup"] = true;
  const auto [end, measured] = arrivals(outcome_of(scenario));
  for (std::size_t i = 0; i < 6; ++i) CHECK(measured[i] == Approx(end).epsilon(1e-9));
  CHECK(measured[6] > end + 1);
}

TEST_CASE("round trip: what clients have not seen at the time limit has not been", "[engine]") {
  Json scenario = in_loop(40, 4);
  scenario["workload"]["arrivals"]["round_trip_ms"] = 40;
  engine_of(scenario)["front_end_tokens_per_s"] = 200;
  const Outcome whole = outcome_of(scenario);
  for (const double limit : {0.35, 0.6, 1.1}) {
    scenario["simulated_time_limit_s"] = limit;
    const Outcome cut = outcome_of(scenario);
    std::size_t completed = 0;
    for (std::size_t i = 0; i < cut.requests.size(); ++i) {
      const RequestRecord &a = cut.requests[i], &b = whole.requests[i];
      const bool ended = b.finished.value() <= limit, begun = b.first_token.value() <= limit;
      CHECK((a.status == RequestStatus::completed) == ended);
      CHECK(a.finished == (ended ? b.finished : Seconds(-1)));
      CHECK(a.first_token == (begun ? b.first_token : Seconds(-1)));
      completed += ended;
    }
    CHECK(completed < cut.requests.size());
  }
}
