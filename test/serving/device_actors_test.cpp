// Devices as actors: one each or folded, slow for a while, and switched off.
#include <catch2/catch.hpp>
#include <random>

#include "test/serving/random_scenario.h"

using namespace weir;
using test::Outcome;

namespace {

const Json::json_pointer entry("/cluster/nodes/0/devices/0");

Json one_request_after_another() {
  Json scenario = test::small_scenario();
  scenario["cluster"]["nodes"][0]["devices"][0]["count"] = 4;
  scenario["serving"]["replicas"][0]["parallelism"]["tensor"] = 4;
  scenario["serving"]["replicas"][0]["engine"] = {{"front_end_ms", 0}};  // of no device
  scenario["workload"]["requests"]["count"] = 12;
  scenario["workload"]["arrivals"] = {{"kind", "closed_loop"}, {"concurrency", 1}};
  return scenario;
}

Json slowed(Json scenario, const Json& profile, const Json& index = nullptr) {
  scenario[entry]["speed_profile"] = profile;
  scenario[entry]["index"] = index;
  return scenario;
}

void check_same_times(const Outcome& a, const Outcome& b) {
  REQUIRE(a.error == "");
  REQUIRE(b.error == "");
  REQUIRE(a.requests.size() == b.requests.size());
  for (std::size_t i = 0; i < a.requests.size(); ++i) {
    CHECK(a.requests[i].first_token == b.requests[i].first_token);
    CHECK(a.requests[i].finished == b.requests[i].finished);
  }
}

Outcome folded(Json scenario) {
  scenario["actors"] = "groups";
  return test::run(scenario);
}

}  // namespace

TEST_CASE("device actors: folded or one a device, requests end at the same instant", "[engine]") {
  for (unsigned seed = 900; seed < 912; ++seed) {
    INFO(seed);
    const Json scenario = test::random_scenario(seed, false);
    check_same_times(test::run(scenario), folded(scenario));
  }
}

TEST_CASE("device actors: one slow device slows its group, from then on and no sooner", "[engine]") {
  const Json usual = one_request_after_another();
  const Outcome before = test::run(usual);
  const Seconds change = before.requests[4].finished;
  const Json half = {{change.value() + 1e-6, 0.5}};
  const Outcome one = test::run(slowed(usual, half, 2)), all = test::run(slowed(usual, half));
  check_same_times(one, all);
  check_same_times(one, folded(slowed(usual, half, 2)));
  for (std::size_t i = 0; i < before.requests.size(); ++i) {
    const RequestRecord &was = before.requests[i], &is = one.requests[i];
    if (i <= 4) CHECK(is.finished == was.finished);
    const Seconds took = is.finished - is.request.arrival, usually = was.finished - was.request.arrival;
    if (i > 5) CHECK(took.value() == Approx(2 * usually.value()).epsilon(1e-9));
  }
}

TEST_CASE("device actors: a step that has begun is slowed for its rest", "[engine]") {
  Json usual = one_request_after_another();
  usual["workload"]["requests"] = {
      {"kind", "fixed"}, {"input_tokens", 512}, {"output_tokens", 1}, {"count", 1}};
  const Seconds alone = test::run(usual).requests[0].finished;
  const Outcome slow = test::run(slowed(usual, {{0.25 * alone.value(), 0.5}, {0.75 * alone.value(), 4}}));
  // A quarter of it at its own speed, half a time at half: the other half is done in an eighth.
  CHECK(slow.requests[0].finished.value() == Approx(alone.value() * (0.25 + 0.5 + 0.125)).epsilon(1e-9));
}

TEST_CASE("device actors: a slower device never ends a request sooner, one after another", "[engine]") {
  std::mt19937 random(17);
  const Json usual = one_request_after_another();
  const Outcome before = test::run(usual);
  for (int i = 0; i < 6; ++i) {
    std::uniform_real_distribution<double> share(0, 1);
    Json profile = Json::array();
    double at = 0;
    for (int change = 0; change < 5; ++change)
      profile.push_back({at += before.end / 5 * share(random) + 1e-3, 0.2 + 0.8 * share(random)});
    INFO(profile.dump());
    const Json scenario = slowed(usual, profile, i % 4);
    const Outcome slow = test::run(scenario);
    for (std::size_t r = 0; r < before.requests.size(); ++r)
      CHECK(slow.requests[r].finished >= before.requests[r].finished);
    Json stepped = scenario;
    stepped["fast_forward"] = false;
    test::check_same(slow, test::run(stepped));
  }
}

TEST_CASE("device actors: fast-forward ends at every change, whatever is served", "[engine]") {
  for (unsigned seed = 920; seed < 930; ++seed) {
    INFO(seed);
    Json scenario = slowed(test::random_scenario(seed, true), {{0.4, 0.5}, {1.3, 1.7}, {2.2, 0.8}});
    const Outcome fast = test::run(scenario);
    test::check_laws(scenario, fast);
    check_same_times(fast, folded(scenario));
    scenario["fast_forward"] = false;
    test::check_same(fast, test::run(scenario));
  }
}

TEST_CASE("device actors: a device that is switched off ends the run, and loses its own requests",
          "[engine]") {
  Json scenario = test::small_scenario();
  scenario["cluster"]["nodes"][0]["devices"][0]["count"] = 2;
  scenario["serving"]["replicas"][0]["count"] = 2;
  scenario["workload"]["requests"]["count"] = 60;
  scenario["workload"]["arrivals"] = {{"kind", "all_at_once"}};
  const Outcome whole = test::run(scenario);
  const Seconds stop(whole.end / 2);
  scenario[entry]["state_profile"] = {{0, 1}, {stop.value(), 0}};
  scenario[entry]["index"] = 1;
  const Outcome cut = test::run(scenario);
  REQUIRE(cut.error == "");
  int lost = 0, kept = 0;
  for (std::size_t i = 0; i < whole.requests.size(); ++i) {
    const RequestRecord &was = whole.requests[i], &is = cut.requests[i];
    INFO(i);
    if (was.finished < stop) {
      CHECK(is.status == RequestStatus::completed);
      CHECK(is.finished == was.finished);
      continue;
    }
    const bool with_it = is.replica == 1;
    CHECK(is.status == (with_it ? RequestStatus::lost : RequestStatus::unfinished));
    (with_it ? lost : kept) += 1;
  }
  CHECK(lost > 0);
  CHECK(kept > 0);
  scenario[entry]["state_profile"] = {{whole.end + 1, 0}};  // when all is done
  CHECK(test::run(scenario).end == whole.end);
}
