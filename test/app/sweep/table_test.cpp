// What weir sweep prints at its end.
#include <catch2/catch.hpp>

#include "sim/app/results/repetitions.h"
#include "sim/app/sweep/runner.h"

using namespace weir;

namespace {

const std::string rate = "/workload/arrivals/rate_per_s";

ResultSet made(int rates, int seeds) {
  ResultSet results;
  results.name = "made";
  results.varied = {rate, "/seed"};
  for (int r = 1; r <= rates; ++r)
    for (int seed = 1; seed <= seeds; ++seed)
      results.points.push_back(
          {std::ssize(results.points),
           {{rate, r}, {"/seed", seed}},
           "done",
           "",
           {{"output_throughput", 100 * r + seed}, {"p99_ttft_ms", r}, {"p99_tpot_ms", nullptr}}});
  return results;
}

}  // namespace

TEST_CASE("sweep table: a row a configuration, seeds by their mean and its interval, failed ones counted") {
  ResultSet results = made(2, 3);
  results.points[4].status = "failed";
  results.points[4].summary = nullptr;
  const std::string table = sweep_table(results, "out/results.csv", false);
  INFO(table);
  CHECK_THAT(table, Catch::StartsWith("made: 5 points done, 1 failed\n"));
  // 101, 102 and 103: deviation 1, times t(2) = 4.303 over the root of 3
  CHECK_THAT(table, Catch::Contains("102 ±2.5 ") && Catch::Contains("202 ±13 (2/3)"));
  CHECK_THAT(table, !Catch::Contains("capacity") && !Catch::Contains("Cheapest"));
  CHECK_THAT(table, !Catch::Contains("results.csv"));
}

TEST_CASE("sweep table: of many configurations the best, and where the others are") {
  const std::string table = sweep_table(made(31, 2), "out/results.csv", false);
  INFO(table);
  CHECK_THAT(table, Catch::Contains("Most output tokens a second") && Catch::Contains("rate_per_s 31"));
  CHECK_THAT(table, Catch::Contains("Every point is in out/results.csv"));
  CHECK_THAT(sweep_table(made(30, 2), "out/results.csv", false), !Catch::Contains("results.csv"));
}

TEST_CASE("sweep table: the answers of capacity and cheapest searches are told") {
  ResultSet results = made(3, 1);
  for (PointResult& p : results.points)
    p.summary["capacity_rate_per_s"] = 4.25 * static_cast<double>(p.index);
  CHECK_THAT(sweep_table(results, "", false), Catch::Contains("capacity /s") && Catch::Contains("8.5"));
  results = made(40, 1);
  for (PointResult& p : results.points) p.summary["capacity_rate_per_s"] = 50 - p.index;
  CHECK_THAT(sweep_table(results, "", false), Catch::Contains("Highest capacity"));
  for (PointResult& p : results.points)
    p.summary.update({{"cheapest", p.index == 6 ? 1 : 0}, {"device_count", 4}, {"cost_dollars", 1.5}});
  CHECK_THAT(sweep_table(results, "", false),
             Catch::Contains("Cheapest that meets the SLO:\n  rate_per_s 7: 4 devices, 1.5 $\n"));
  results.points[6].summary["cheapest"] = 0;
  CHECK_THAT(sweep_table(results, "", false), Catch::Contains("none does"));
}
