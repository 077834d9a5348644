// Which layout a sweep calls the cheapest, against brute force.
#include <catch2/catch.hpp>

#include <fstream>
#include <random>

#include "sim/app/ranking/objective.h"
#include "sim/app/results/metric.h"
#include "sim/app/sweep/search/conclude.h"
#include "test/app/run_weir.h"
#include "test/app/sweep/sweep_files.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("cheapest: equals brute force over random points, by every objective") {
  std::mt19937 random(9);
  for (int round = 0; round < 100; ++round) {
    const Objective& objective = objectives()[static_cast<std::size_t>(round) % objectives().size()];
    std::vector<PointResult> points;
    for (int load = 0; load < 3; ++load)
      for (int layout = 0; layout < 8; ++layout)
        points.push_back(done(
            static_cast<std::int64_t>(points.size()), {{"/load", load}, {"/layout", layout}},
            {{"meets_slo", random() % 2},
             {"device_count", random() % 4 + 1},
             {"mean_e2el_ms", random() % 3},
             {"joules_per_output_token", random() % 5},
             {"cost",
              {{"dollars_per_hour", random() % 3}, {"dollars_per_million_output_tokens", random() % 4}}}}));
    Searches searches;
    searches.cheapest = CheapestSearch{{}, objective.name, {"/load"}};
    REQUIRE(conclude(searches, points) == std::vector<std::string>{"cheapest"});
    for (const PointResult& p : points) {
      bool best = p.summary["meets_slo"] == 1;
      for (const PointResult& q : points) {
        const auto price = [&](const PointResult& r) {
          return std::pair(metric_of(r.summary, objective.metric), r.summary["mean_e2el_ms"].get<double>());
        };
        if (q.varied[0] == p.varied[0] && q.summary["meets_slo"] == 1 && price(q) < price(p)) best = false;
      }
      CHECK((p.summary["cheapest"] == 1) == best);
    }
  }
}

TEST_CASE("cheapest: of repetitions all meet the SLO, and their means are compared, by brute force") {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    struct Layout {
      bool met = true, done = true;
      double devices = 0, latency = 0;
    };
    std::vector<Layout> layouts(4);
    std::vector<PointResult> points;
    for (int seed = 0; seed < 2; ++seed)
      for (int i = 0; i < 4; ++i) {
        Layout& layout = layouts[static_cast<std::size_t>(i)];
        const bool met = random() % 3 > 0, ended = random() % 8 > 0;
        const double devices = static_cast<double>(random() % 3 + 1),
                     latency = static_cast<double>(random() % 3);
        points.push_back(
            done(std::ssize(points), {{"/seed", seed}, {"/layout", i}},
                 {{"meets_slo", met ? 1 : 0}, {"device_count", devices}, {"mean_e2el_ms", latency}}));
        if (!ended) points.back().status = "failed", points.back().summary = nullptr;
        layout.met = layout.met && met;
        layout.done = layout.done && ended;
        layout.devices += devices / 2;
        layout.latency += latency / 2;
      }
    Searches searches;
    searches.cheapest = CheapestSearch{{}, "devices", {}};
    conclude(searches, points);
    for (const PointResult& p : points) {
      if (p.status != "done") continue;
      const Layout& mine = layouts[p.varied[1].second.get<std::size_t>()];
      const bool best =
          mine.met && mine.done && std::ranges::none_of(layouts, [&](const Layout& other) {
            return other.met && other.done &&
                   std::pair(other.devices, other.latency) < std::pair(mine.devices, mine.latency);
          });
      INFO("round " << round << ", point " << p.index);
      CHECK((p.summary["cheapest"] == 1) == best);
    }
  }
}

TEST_CASE("cheapest: the same prices in another sum are a tie, and what has no value does not win") {
  const double h100 = 2.69, eight = 8 * h100;
  double one_by_one = 0;
  for (int i = 0; i < 8; ++i) one_by_one += h100;
  REQUIRE(one_by_one != eight);
  const auto point = [](std::int64_t i, const Json& dollars, double latency) {
    return done(i, {{"/layout", i}},
                {{"meets_slo", 1}, {"cost", {{"dollars_per_hour", dollars}}}, {"mean_e2el_ms", latency}});
  };
  std::vector<PointResult> points = {point(0, std::min(one_by_one, eight), 20),
                                     point(1, std::max(one_by_one, eight), 10), point(2, nullptr, 1)};
  Searches searches;
  searches.cheapest = CheapestSearch{{}, "dollars_per_hour", {}};
  conclude(searches, points);
  CHECK(points[0].summary["cheapest"] == 0);
  CHECK(points[1].summary["cheapest"] == 1);
  CHECK(points[2].summary["cheapest"] == 0);
}

TEST_CASE("cheapest: means dollars, unless the sweep says otherwise: two RTX 4090 beat one H100") {
  Json scenario = small_scenario();
  scenario["workload"]["requests"] = {
      {"kind", "fixed"}, {"count", 20}, {"input_tokens", 100}, {"output_tokens", 20}};
  scenario["cluster"]["nodes"][0].erase("interconnect");
  Json sweep = {{"scenario", scenario}, {"cheapest", {{"tpot_ms", 100}}}};
  sweep["zip"] = {
      {{"/cluster/nodes/0/devices/0", {{{"kind", "h100_sxm"}}, {{"kind", "rtx4090"}, {"count", 2}}}},
       {"/serving/replicas/0/count", {1, 2}}}};
  const auto winner = [&](const Json& objective) {
    if (!objective.is_null()) sweep["cheapest"]["objective"] = objective;
    const Sweep read = swept(sweep);
    std::vector<PointResult> points;
    for (Json& summary : run_all(read)) {
      CHECK(summary["meets_slo"] == 1);
      const auto i = points.size();
      points.push_back(done(static_cast<std::int64_t>(i), read.points[i].varied, std::move(summary)));
    }
    conclude(read.searches, points);
    // The device catalog's price_per_hour.
    CHECK(points[0].summary["cost"]["dollars_per_hour"].get<double>() == Approx(2.69));
    CHECK(points[1].summary["cost"]["dollars_per_hour"].get<double>() == Approx(2 * 0.34));
    REQUIRE(points[0].summary["cheapest"] != points[1].summary["cheapest"]);
    return points[0].summary["cheapest"] == 1 ? "h100_sxm" : "rtx4090";
  };
  CHECK(winner(nullptr) == std::string("rtx4090"));
  CHECK(winner("dollars_per_hour") == std::string("rtx4090"));
  CHECK(winner("devices") == std::string("h100_sxm"));
}

TEST_CASE("cheapest: an objective that there is not is refused with those that there are") {
  const std::vector<Problem> problems =
      problems_of({{"scenario", small_scenario()}, {"cheapest", {{"tpot_ms", 9}, {"objective", "dollars"}}}});
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].pointer == "/cheapest/objective");
  CHECK_THAT(problems[0].what, Catch::Contains("dollars_per_mtok") && Catch::Contains("joules_per_token"));
}

TEST_CASE("cheapest: in a sweep, the fewest devices that serve the load in time") {
  const ScratchDirectory scratch;
  Json scenario = small_scenario();
  scenario["workload"]["arrivals"]["rate_per_s"] = 200;
  Json sweep = {{"scenario", scenario},
                {"vary", {{"/serving/replicas/0/count", {1, 2, 4, 8}}}},
                {"cheapest", {{"tpot_ms", 8}, {"percentile", 50}}}};
  std::ofstream(scratch / "sweep.json") << sweep.dump();
  const Ended ended =
      run_weir({"sweep", "sweep.json", "--out", "out", "--jobs", "2"}, {.folder = scratch.path()});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const ResultSet results = read_results(scratch / "out");
  REQUIRE(results.points.size() == 4);
  bool found = false;
  for (const PointResult& p : results.points) {
    CHECK(p.summary["device_count"] == p.varied[0].second);
    const bool first = p.summary["meets_slo"] == 1 && !found;
    CHECK((p.summary["cheapest"] == 1) == first);
    found = found || first;
  }
  CHECK(found);
  CHECK(results.points[0].summary["meets_slo"] == 0);
}
