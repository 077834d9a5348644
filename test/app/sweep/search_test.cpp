// Searches on top of a sweep's grid, against brute force.
#include <catch2/catch.hpp>

#include <cmath>
#include <fstream>
#include <random>

#include "sim/app/results/metric.h"
#include "sim/app/sweep/search/capacity.h"
#include "sim/app/sweep/search/conclude.h"
#include "sim/app/sweep/search/offered_load.h"
#include "test/app/run_weir.h"
#include "test/app/sweep/sweep_files.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("capacity: any threshold is found within the precision, from any start") {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> exponent(-1.9, 4.9);
  for (int i = 0; i < 1000; ++i) {
    const double threshold = std::pow(10, exponent(random)), start = std::pow(10, exponent(random));
    CapacitySearch search;
    search.precision = 0.02;
    search.lowest = 0.01;
    search.highest = 1e5;
    int asked = 0;
    const CapacityFound found = find_capacity(search, start, [&](double rate) {
      ++asked;
      return rate <= threshold;
    });
    CHECK(found.rate <= threshold);
    CHECK(found.rate * (1 + search.precision) >= threshold);
    CHECK_FALSE(found.limited);
    CHECK(found.probes == asked);
    CHECK(asked < 40);
  }
}

TEST_CASE("capacity: none below the lowest rate is 0, and the highest is not exceeded") {
  CapacitySearch search;
  search.lowest = 1;
  search.highest = 10;
  CHECK(find_capacity(search, 5, [](double) { return false; }).rate == 0);
  const CapacityFound all = find_capacity(search, 5, [](double rate) {
    CHECK(rate <= 10);
    return true;
  });
  CHECK(all.rate == 10);
  CHECK(all.limited);
  CHECK(find_capacity(search, 100, [](double rate) { return rate <= 1; }).rate == 1);
}

TEST_CASE("capacity: the lowest rate is asked first, and what misses it is asked nothing else") {
  CapacitySearch search;
  search.lowest = 0.01;
  search.highest = 1e5;
  std::vector<double> asked;
  const auto below = [&](double threshold) {
    asked.clear();
    return find_capacity(search, 8, [&](double rate) {
      asked.push_back(rate);
      return rate <= threshold;
    });
  };
  CHECK(below(0.001).rate == 0);
  CHECK(asked == std::vector<double>{0.01});
  const CapacityFound found = below(11);
  CHECK(std::vector<double>(asked.begin(), asked.begin() + 3) == std::vector<double>{0.01, 8, 16});
  CHECK(asked.size() == 9);  // six more halve a factor of two to 2 %
  CHECK(found.rate <= 11);
  CHECK(found.rate * 1.02 >= 11);
}

TEST_CASE("capacity: a trace is searched by rate_scale, and gives the rate at which its requests then come") {
  const ScratchDirectory scratch;
  std::ofstream trace(scratch / "trace.csv");
  trace << "arrival_s,input_tokens,output_tokens\n";
  for (int i = 0; i < 301; ++i) trace << 5 + 0.5 * i << ",400,50\n";  // two a second
  trace.close();
  Json scenario = small_scenario();
  scenario["workload"] = {{"requests", {{"kind", "csv"}, {"file", (scratch / "trace.csv").string()}}},
                          {"arrivals", {{"kind", "trace"}, {"rate_scale", 3}}}};
  scenario["serving"]["replicas"][0]["batching"] = {{"kind", "chunked_prefill"}, {"max_batch_requests", 16}};
  CHECK(OfferedLoad(scenario, "").rate_per_s() == Approx(6));
  const Json slo = {{"ttft_ms", 400}, {"tpot_ms", 20}, {"percentile", 90}};
  const Json found = run_all(swept({{"scenario", scenario}, {"capacity", slo}})).at(0);
  const double rate = found["capacity_rate_per_s"], scale = found["capacity_rate_scale"];
  CHECK(rate == Approx(2 * scale));
  CHECK(found["scenario"]["workload"]["arrivals"]["rate_scale"] == scale);
  CHECK(found["meets_slo"] == 1);
  Json evenly = scenario;  // the same load, drawn
  evenly["workload"] = {
      {"requests", {{"kind", "fixed"}, {"count", 301}, {"input_tokens", 400}, {"output_tokens", 50}}},
      {"arrivals", {{"kind", "constant"}, {"rate_per_s", 6}}}};
  const double drawn = run_all(swept({{"scenario", evenly}, {"capacity", slo}})).at(0)["capacity_rate_per_s"];
  CHECK(rate == Approx(drawn).epsilon(0.03));
}

TEST_CASE("capacity: a limit of simulated time is stretched with the arrivals, not cut short by low rates") {
  Json scenario = small_scenario();
  scenario["simulated_time_limit_s"] = 1000;
  scenario["workload"]["arrivals"] = {{"kind", "constant"}, {"rate_per_s", 4}};
  const OfferedLoad load(scenario, "");
  load.set(scenario, 0.01);
  CHECK(scenario["simulated_time_limit_s"] == 400'000);
  CHECK(scenario["workload"]["arrivals"]["rate_per_s"] == 0.01);
  Json faster = scenario;
  OfferedLoad(scenario, "").set(faster, 8);
  CHECK(faster["simulated_time_limit_s"] == scenario["simulated_time_limit_s"]);
}

TEST_CASE("capacity: agrees with a fine grid of simulated rates within its precision") {
  Json scenario = small_scenario();
  scenario["workload"]["requests"]["count"] = 300;
  scenario["serving"]["replicas"][0]["batching"] = {{"kind", "chunked_prefill"}, {"max_batch_requests", 16}};
  const Json slo = {{"ttft_ms", 400}, {"tpot_ms", 20}, {"percentile", 90}};
  Json searching = {{"scenario", scenario}, {"capacity", slo}};
  searching["capacity"]["precision"] = 0.02;
  const Json found = run_all(swept(searching)).at(0);
  const double capacity = found["capacity_rate_per_s"];
  REQUIRE(capacity > 1);
  CHECK(found["meets_slo"] == 1);
  CHECK(found["scenario"]["workload"]["arrivals"]["rate_per_s"] == capacity);
  CHECK(found["p90_ttft_ms"] <= 400);

  Json grid = {{"scenario", scenario}, {"cheapest", slo}};  // which judges every point by the SLO
  grid["vary"]["/workload/arrivals/rate_per_s"] = {
      {"from", capacity * 0.8}, {"to", capacity * 1.2}, {"steps", 81}};
  double highest = 0;  // of an unbroken run of rates that meet it, 0.5 % apart
  for (const Json& summary : run_all(swept(grid))) {
    if (summary["meets_slo"] != 1) break;
    highest = summary["scenario"]["workload"]["arrivals"]["rate_per_s"];
  }
  CHECK(highest >= capacity * (1 - 0.006));
  CHECK(highest <= capacity * (1 + 0.02 + 0.006));
}

TEST_CASE("capacity: without a bound on the first token, a queue that grows is still no capacity") {
  Json scenario = small_scenario();
  scenario["workload"]["requests"] = {{"kind", "lognormal"},
                                      {"input", {{"mean", 500}, {"std", 200}, {"max", 2000}}},
                                      {"output", {{"mean", 50}, {"std", 20}, {"max", 200}}},
                                      {"count", 4000}};
  scenario["workload"]["arrivals"] = {{"kind", "constant"}, {"rate_per_s", 5}};
  scenario["serving"]["replicas"][0]["batching"] = {{"kind", "chunked_prefill"}, {"max_batch_requests", 8}};
  const Json found =
      run_all(swept({{"scenario", scenario}, {"capacity", {{"tpot_ms", 1000}, {"precision", 0.01}}}})).at(0);
  const double capacity = found["capacity_rate_per_s"];
  Json saturated = scenario;  // as many as it can serve
  saturated["workload"]["arrivals"] = {{"kind", "all_at_once"}};
  const double served = run_all(swept({{"scenario", saturated}, {"seeds", 1}})).at(0)["request_throughput"];
  // Two standard deviations of the 2,000 arrivals that are judged are 4.5 %; bisection adds 1.
  CHECK(capacity >= served * 0.97);
  CHECK(capacity <= served * 1.06);
}

TEST_CASE("capacity: what cannot be searched is refused") {
  const auto place = [](const Json& arrivals, const Json& more) {
    Json scenario = small_scenario();
    scenario["workload"]["arrivals"] = arrivals;
    Json sweep = {{"scenario", scenario}, {"capacity", {{"tpot_ms", 50}}}};
    sweep.update(more);
    try {
      swept(sweep);
    } catch (const ConfigError& e) {
      return e.problems()[0].pointer;
    }
    return std::string("accepted");
  };
  const Json poisson = {{"kind", "poisson"}, {"rate_per_s", 1}};
  CHECK(place(poisson, Json::object()) == "accepted");
  CHECK(place({{"kind", "all_at_once"}}, Json::object()) == "/capacity");
  const ScratchDirectory scratch;
  std::ofstream(scratch / "trace.csv") << "arrival_s,input_tokens,output_tokens\n1,10,10\n1,10,10\n";
  Json at_once = small_scenario();
  at_once["workload"] = {{"requests", {{"kind", "csv"}, {"file", (scratch / "trace.csv").string()}}},
                         {"arrivals", {{"kind", "trace"}}}};
  CHECK(places(problems_of({{"scenario", at_once}, {"capacity", {{"tpot_ms", 50}}}})) ==
        std::set<std::string>{"/capacity"});
  CHECK(place(poisson, {{"vary", {{"/workload/arrivals/rate_scale", {1, 2}}}}}) ==
        "/vary/~1workload~1arrivals~1rate_scale");
  CHECK(place(poisson, {{"cheapest", {{"tpot_ms", 50}}}}) == "/cheapest");
  CHECK(place(poisson, {{"vary", {{"/workload/arrivals/rate_per_s", {1, 2}}}}}) ==
        "/vary/~1workload~1arrivals~1rate_per_s");
}

TEST_CASE("pareto: equals brute force over random points, with ties and missing numbers") {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const std::size_t metrics = 1 + random() % 4;
    std::vector<std::vector<double>> points(random() % 60);
    for (auto& point : points) {
      for (std::size_t m = 0; m < metrics; ++m) point.push_back(static_cast<double>(random() % 12));
      if (random() % 10 == 0) point[0] = std::nan("");
    }
    const std::vector<bool> found = non_dominated(points);
    for (std::size_t i = 0; i < points.size(); ++i) {
      bool best = !std::isnan(points[i][0]);
      for (const auto& other : points) {
        bool no_worse = true, better = false;
        for (std::size_t m = 0; m < metrics; ++m) {
          no_worse = no_worse && other[m] <= points[i][m];
          better = better || other[m] < points[i][m];
        }
        if (no_worse && better) best = false;
      }
      CHECK(found[i] == best);
    }
  }
}

TEST_CASE("pareto: marks the front of each group, seeds by their mean, and no point that failed") {
  const auto point = [](std::int64_t i, const char* kind, int layout, int seed, double device, double user) {
    return done(i, {{"/kind", kind}, {"/layout", layout}, {"/seed", seed}},
                {{"tokens_per_s_per_device", device}, {"tokens_per_s_per_user", user}});
  };
  std::vector<PointResult> points = {
      point(0, "a", 1, 1, 10, 1),  point(1, "a", 1, 2, 10, 3),   // mean 10, 2
      point(2, "a", 2, 1, 5, 2.5), point(3, "a", 2, 2, 5, 2.5),  // on the front
      point(4, "a", 3, 1, 9, 1),   point(5, "a", 3, 2, 9, 2.5),  // mean 9, 1.75: beaten
      point(6, "b", 1, 1, 1, 1),   point(7, "b", 1, 2, 1, 1)};
  points.push_back({8, {{"/kind", "b"}, {"/layout", 2}, {"/seed", 1}}, "failed", "crashed", nullptr});
  points.push_back(point(9, "b", 2, 2, 100, 100));  // its other seed failed: nothing is known of the mean
  Searches searches;
  searches.pareto = ParetoSearch{{"tokens_per_s_per_device", "tokens_per_s_per_user"}, {"/kind"}};
  REQUIRE(conclude(searches, points) == std::vector<std::string>{"pareto"});
  std::vector<int> marks;
  for (const PointResult& p : points)
    marks.push_back(p.status == "done" ? p.summary["pareto"].get<int>() : -1);
  CHECK(marks == std::vector<int>{1, 1, 1, 1, 0, 0, 1, 1, -1, 0});
}
