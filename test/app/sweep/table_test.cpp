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

void set_each(ResultSet& results, const std::string& metric, double (*of)(std::int64_t point)) {
  for (PointResult& p : results.points) p.summary[metric] = of(p.index);
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
  CHECK_THAT(table, !Catch::Contains("capacity") && !Catch::Contains("Least"));
  CHECK_THAT(table, !Catch::Contains("results.csv"));
}

TEST_CASE(
    "sweep table: the ten best come first, best first, and the line says by what and how many more there "
    "are") {
  const std::string table = sweep_table(made(31, 2), "out/results.csv", false);
  INFO(table);
  CHECK_THAT(table, Catch::Contains("By output tokens/s, as the sweep has neither a search nor an SLO:\n"
                                    "  rate_per_s 31, 3,102 output tokens/s (p99 TTFT 31 ms, TPOT - ms)\n"
                                    "    next rate_per_s 30, 3,002 output tokens/s\n"));
  CHECK_THAT(table,
             Catch::Contains("\n  31  ") && Catch::Contains("\n  22  ") && !Catch::Contains("\n  21  "));
  CHECK(table.find("\n  31  ") < table.find("\n  22  "));
  CHECK_THAT(table, Catch::Contains("  and 21 more in out/results.csv\n"));
  CHECK_THAT(sweep_table(made(10, 2), "out/results.csv", false), !Catch::Contains("results.csv"));
}

TEST_CASE(
    "sweep table: without a search goodput decides where there is an SLO, ties go to the lower latency") {
  ResultSet results = made(3, 1);
  results.resolved = {{"scenario", {{"slo", {{"ttft_ms", 500}}}}}};
  set_each(results, "request_goodput", [](std::int64_t i) { return i == 0 ? 1.0 : 4.0; });
  set_each(results, "mean_e2el_ms", [](std::int64_t i) { return 100.0 - static_cast<double>(i); });
  const std::string table = sweep_table(results, "", false);
  INFO(table);
  CHECK_THAT(table, Catch::Contains("By goodput (requests within TTFT 500 ms), as the sweep has no search:\n"
                                    "  rate_per_s 3, 4 good requests/s (p99 TTFT 3 ms)\n"
                                    "    next rate_per_s 2, 4 good requests/s\n"));
}

TEST_CASE("sweep table: of a capacity search the highest rate is first") {
  ResultSet results = made(40, 1);
  results.resolved = {{"capacity", {{"tpot_ms", 50}, {"percentile", 90}}}};
  set_each(results, "capacity_rate_per_s", [](std::int64_t i) { return i == 11 ? 8.5 : 0.25; });
  const std::string table = sweep_table(results, "", false);
  INFO(table);
  CHECK_THAT(table, Catch::Contains("Highest rate with 90 % of requests within TPOT 50 ms:\n"
                                    "  rate_per_s 12, 8.5 requests/s (p90 TPOT - ms)\n"));
  CHECK_THAT(table, Catch::Contains("capacity /s"));
  CHECK(table.find("\n  12  ") < table.find("\n  1  "));
  set_each(results, "capacity_rate_per_s", [](std::int64_t) { return 0.0; });
  CHECK_THAT(sweep_table(results, "", false), Catch::Contains("none: missed even at the lowest rate tried"));
}

TEST_CASE("sweep table: of a cheapest search the winner of each group, what it costs, and who comes next") {
  ResultSet results;
  results.name = "made";
  results.varied = {rate, "/model"};
  results.resolved = {{"cheapest",
                       {{"ttft_ms", 1500},
                        {"tpot_ms", 30},
                        {"percentile", 99},
                        {"objective", "dollars_per_hour"},
                        {"per", {rate}}}}};
  const auto add = [&](int load, const char* model, int cheapest, int meets, double dollars, double latency) {
    results.points.push_back({std::ssize(results.points),
                              {{rate, load}, {"/model", model}},
                              "done",
                              "",
                              {{"cheapest", cheapest},
                               {"meets_slo", meets},
                               {"cost_dollars_per_hour", dollars},
                               {"mean_e2el_ms", latency},
                               {"p99_ttft_ms", 200},
                               {"p99_tpot_ms", 25}}});
  };
  add(1, "large", 0, 1, 2.69, 10);
  add(1, "small", 1, 1, 0.68, 20);
  add(1, "tiny", 0, 0, 0.34, 30);
  add(2, "large", 0, 1, 2.69, 12);
  add(2, "small", 1, 1, 2.69, 11);
  add(3, "large", 0, 0, 2.69, 12);
  const std::string table = sweep_table(results, "", false);
  INFO(table);
  CHECK_THAT(table, Catch::Contains("Least dollars_per_hour (ties: latency) with 99 % of requests within "
                                    "TTFT 1,500 ms and TPOT 30 ms:\n"
                                    "  rate_per_s 1: small, $0.68 /hour (p99 TTFT 200 ms, TPOT 25 ms)\n"
                                    "    next large, $2.69 /hour\n"
                                    "  rate_per_s 2: small, $2.69 /hour (p99 TTFT 200 ms, TPOT 25 ms)\n"
                                    "    next large, $2.69 /hour, but end to end 12 ms on average, not 11\n"
                                    "  rate_per_s 3: none\n"));
  std::vector<std::string> marks;
  for (std::size_t at = table.find("cost /hour"); at != std::string::npos; at = table.find('\n', at + 1)) {
    const std::size_t end = table.find('\n', at + 1);
    if (end == std::string::npos) break;
    const std::string line = table.substr(at + 1, end - at - 1);
    marks.push_back(line.substr(line.rfind(' ') + 1));
  }
  CHECK(marks == std::vector<std::string>{"SLO", "cheapest", "cheapest", "met", "met", "missed", "missed"});
  CHECK_THAT(table, Catch::Contains("$0.68") && !Catch::Contains("0.68 $"));
}

TEST_CASE("sweep table: of a Pareto front its members first, and the best of each of its metrics") {
  ResultSet results = made(12, 1);
  results.resolved = {{"pareto", {{"metrics", {"output_throughput", "p99_ttft_ms"}}}}};
  set_each(results, "pareto", [](std::int64_t i) { return i < 2 ? 1.0 : 0.0; });
  const std::string table = sweep_table(results, "out/results.csv", false);
  INFO(table);
  CHECK_THAT(table, Catch::Contains("2 of 12 are on the Pareto front, these first:\n"
                                    "  Output tokens/s: 201 by rate_per_s 2\n"
                                    "  p99 TTFT (ms): 1 by rate_per_s 1\n"));
  CHECK(table.find("\n  2  ") < table.find("\n  1  "));
  CHECK(table.find("\n  1  ") < table.find("\n  12  "));
}
