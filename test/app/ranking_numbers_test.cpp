// Ranks of results, and how near measured servers are, by hand: ties, limits and numbers that are not.
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/app/compare/comparison.h"
#include "sim/app/evidence/differences.h"
#include "sim/app/evidence/leaves.h"
#include "sim/app/ranking/objective.h"
#include "sim/app/ranking/slo_bounds.h"
#include "sim/app/results/labels.h"
#include "sim/app/results/metric.h"
#include "sim/app/results/repetitions.h"
#include "test/app/made_results.h"
#include "test/serving/run_in_child.h"

using namespace weir;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity(), undefined = NAN;

// Replicas of these counts and roles on as many H100, under this workload.
Plan served_by(const std::vector<std::pair<const char*, int>>& replicas, const Json& workload) {
  Json s = test::small_scenario();
  s["cluster"]["nodes"] = {{{"devices", {{{"kind", "h100_sxm"}, {"count", 16}}}}}};
  s["serving"]["replicas"] = Json::array();
  for (const auto& [role, count] : replicas)
    s["serving"]["replicas"].push_back({{"role", role}, {"count", count}});
  s["workload"] = workload;
  return read_plan(s, "test.json");
}

Json fixed_load(const Json& arrivals) {
  return {{"requests", {{"kind", "fixed"}, {"count", 30}, {"input_tokens", 70}, {"output_tokens", 9}}},
          {"arrivals", arrivals}};
}

}  // namespace

TEST_CASE("ranking: a price is compared to nine digits, and what has none comes last") {
  CHECK(place_by(1.0000000001, 7) == std::pair(1., 7.));
  CHECK(place_by(1.00000001, 7).first > 1);
  CHECK(place_by(2, undefined) == std::pair(2., infinite));
  CHECK(place_by(undefined, 7) == std::pair(infinite, infinite));
}

TEST_CASE("ranking: intervals that touch overlap") {
  const Estimate ten{3, 10, 1.5};
  CHECK(overlap(ten, {3, 13, 1.5}));
  CHECK(overlap({3, 13, 1.5}, ten));
  CHECK(overlap(ten, {3, 12, 0.5}));
  CHECK_FALSE(overlap(ten, {3, 12.25, 0.5}));
}

TEST_CASE("ranking: a bound is of its own latency, whatever the statistic but a deviation") {
  const SloBounds slo{500., 25., 0};
  CHECK(slo.of("p99_ttft_ms") == 500.);
  CHECK(slo.of("ttft_ms") == 500.);
  CHECK(slo.of("mean_tpot_ms") == 25.);
  CHECK(slo.of("tokens_per_s_per_user") == 40.);
  for (const char* none : {"std_ttft_ms", "std_tpot_ms", "p99_itl_ms", "p99_e2el_ms"})
    CHECK_FALSE(slo.of(none));
  CHECK_FALSE(SloBounds{500., {}, 0}.of("tokens_per_s_per_user"));
  CHECK(in_words(SloBounds{500., {}, 90}) == "90 % of requests within TTFT 500 ms");
  CHECK(in_words(SloBounds{{}, 25., 0}) == "requests within TPOT 25 ms");
  CHECK(in_words(SloBounds{}) == "requests within their SLO");
}

TEST_CASE("ranking: a search's bounds come before the scenario's, and those that vary are none") {
  ResultSet results;
  results.resolved = {{"scenario", {{"slo", {{"ttft_ms", 300}, {"tpot_ms", 30}}}}}};
  CHECK((slo_of(results).ttft_ms == 300. && slo_of(results).percentile == 0));
  results.points.emplace_back().summary = {{"scenario", {{"slo", {{"ttft_ms", 400}}}}}};
  CHECK((slo_of(results).ttft_ms == 400. && !slo_of(results).tpot_ms));
  results.varied = {"/slo/tpot_ms"};
  CHECK_FALSE(slo_of(results));
  results.varied = {"/slow"};
  CHECK(slo_of(results).ttft_ms == 400.);
  results.varied = {"/slo"};
  CHECK_FALSE(slo_of(results));
  results.resolved["capacity"] = {{"tpot_ms", 60}, {"percentile", 95}};
  CHECK((slo_of(results).tpot_ms == 60. && !slo_of(results).ttft_ms && slo_of(results).percentile == 95));
}

TEST_CASE("metrics: a front of three metrics keeps what is best in one, and nothing that lacks a number") {
  CHECK(non_dominated({{3, 3, 1}, {1, 3, 3}, {3, 3, 3}, {2, 2, 2}, {0, undefined, 0}, {2, 2, 3}}) ==
        std::vector<bool>{true, true, false, true, false, false});
  CHECK(non_dominated({}).empty());
}

TEST_CASE("metrics: titles, and dollars before their numbers alone") {
  CHECK(metric_title("p95_tpot_ms") == "p95 TPOT (ms)");
  CHECK(metric_title("std_e2el_ms") == "std End to end (ms)");
  CHECK(metric_title("output_throughput") == "Output tokens/s");
  CHECK(metric_title("training_0_edp_js") == "Job 0: energy x delay (J s)");
  CHECK(with_dollars("cost_dollars", "3") == "$3");
  CHECK(with_dollars("cost_dollars", "-") == "-");
  CHECK(with_dollars("energy_j", "3") == "3");
}

// Two points, 2 and 8 times as long in the second set: 4 times on their geometric mean.
TEST_CASE("compare: of many points the ratios' geometric mean, least and most, and how many are no noise") {
  const ScratchDirectory scratch;
  const auto sweep = [&](const char* name, double first, double second) {
    std::vector<test::MadePoint> points;
    for (const double duration : {first, second})
      for (int seed = 1; seed <= 2; ++seed)
        points.push_back({{{"/rate", points.size() / 2}, {"/seed", seed}},
                          test::made_summary({{"seed", seed}}, {{"duration", duration + 0.01 * seed}})});
    test::make_sweep(scratch / name, points);
    return read_results(scratch / name);
  };
  const Comparison c = compare({sweep("a", 9.985, 19.985), sweep("b", 19.985, 159.985)});
  const std::string table = comparison_table(c, {});
  INFO(table);
  std::string row;
  for (std::size_t at = table.find("duration"); row.empty() && at != std::string::npos;)
    row = table.substr(at, table.find('\n', at) - at);
  std::istringstream words(row);
  std::string name, mean, least, most, points, real, of, known;
  words >> name >> mean >> least >> most >> points >> real >> of >> known;
  CHECK((mean == "4.000" && least == "2.000" && most == "8.000" && points == "2"));
  CHECK((real == "2" && of == "of" && known == "2"));
}

TEST_CASE("compare: of points that are not in every set five are named, and how many more there are") {
  const ScratchDirectory scratch;
  const auto sweep = [&](const char* name, int first, int count) {
    std::vector<test::MadePoint> points;
    for (int rate = first; rate < first + count; ++rate)
      points.push_back({{{"/rate", rate}}, test::made_summary({{"rate", rate}}, {{"duration", 1}})});
    test::make_sweep(scratch / name, points);
    return read_results(scratch / name);
  };
  const std::string table = comparison_table(compare({sweep("a", 1, 7), sweep("b", 7, 6)}), {});
  INFO(table);
  CHECK_THAT(table,
             Catch::Contains("Not in every set, 6 of A:") && Catch::Contains("\n  rate 5\n  and 1 more\n"));
  CHECK_THAT(table, Catch::Contains("Not in every set, 5 of B:") && Catch::Contains("\n  rate 12\n"));
  CHECK_THAT(table, !Catch::Contains("rate 6\n") && !Catch::Contains("and 0 more"));
}

// Twenty clients of five replicas; of prompts and generation apart they are one server's.
TEST_CASE("evidence: a load is each replica's share of what is in flight, and the mean of lengths") {
  const Json loop = fixed_load({{"kind", "closed_loop"}, {"concurrency", 20}});
  const ServedLoad five = load_of(served_by({{"both", 2}, {"both", 3}}, loop));
  CHECK(five.in_flight == 4.);
  CHECK((five.input_tokens == 70 && five.output_tokens == 9 && five.longest == 79));
  CHECK(load_of(served_by({{"prefill", 2}, {"decode", 3}}, loop)).in_flight == 20.);
  const Plan drawn = served_by({{"both", 5}}, fixed_load({{"kind", "poisson"}, {"rate_per_s", 3}}));
  CHECK_FALSE(load_of(drawn).in_flight);
  CHECK(load_of(drawn, 35).in_flight == 7.);
  const Plan at_once = served_by({{"both", 5}}, fixed_load({{"kind", "all_at_once"}}));
  CHECK(load_of(at_once, 35).in_flight == 7.);
}

TEST_CASE("evidence: ten percent beyond what was measured are within it, and a token more is not") {
  const MeasuredCell& cell = measured_cells().front();
  Json s = cell.scenario;
  s["workload"] = fixed_load({{"kind", "all_at_once"}});
  const Plan plan = read_plan(s, "test.json");
  const auto beyond = [&](double input, double output, double longest, std::optional<double> in_flight) {
    ServedLoad load{
        .input_tokens = input, .output_tokens = output, .longest = longest, .in_flight = in_flight};
    return differences_from(cell, plan, 0, load).more.size();
  };
  const MeasuredRange &in = cell.input_tokens, &out = cell.output_tokens, &flight = cell.in_flight;
  const double context = in.most + out.most;
  CHECK(beyond(0.9 * in.least, 1.1 * out.most, 1.1 * context, 1.1 * flight.most) == 0);
  CHECK(beyond(1.1 * in.most, 0.9 * out.least, 0.9 * in.least, 0.9 * flight.least) == 0);
  CHECK(beyond(0.9 * in.least - 1, out.most, context, flight.most) == 1);
  CHECK(beyond(1.1 * in.most + 1, out.most, context, flight.most) == 1);
  CHECK(beyond(in.least, 1.1 * out.most + 1, context, flight.most) == 1);
  CHECK(beyond(in.least, out.most, 1.1 * context + 1, flight.most) == 1);
  CHECK(beyond(in.least, out.most, context, 1.1 * flight.most + 1) == 1);
  CHECK(beyond(in.least, out.most, context, {}) == 0);
}

TEST_CASE("evidence: servers of a cell keep the least and the most, and every value that varies") {
  MeasuredRange range;
  for (const double value : {5., 3., 9., 4.}) range.add(value);
  CHECK((range.least == 3 && range.most == 9));
  MeasuredCell cell;
  cell.scenario = {{"a", 1}, {"b", {{"c", 2}}}};
  cell.add({{"a", 1}, {"b", {{"c", 3}}}});
  cell.add({{"a", 1}, {"b", {{"c", 2}}}, {"d", "x"}});
  cell.add({{"a", 1}, {"b", {{"c", 3}}}});
  CHECK(cell.varies.size() == 2);
  CHECK(cell.varies["/b/c"] == std::vector<Json>{2, 3});
  CHECK(cell.varies["/d"] == std::vector<Json>{nullptr, "x"});
}

TEST_CASE("evidence: nothing is null, an empty list or an empty object, and a prefix ends with its word") {
  CHECK(same_value(nullptr, Json::array()));
  CHECK(same_value(Json::object(), Json::array()));
  CHECK_FALSE(same_value(nullptr, 0));
  CHECK_FALSE(same_value("", nullptr));
  CHECK(same_value(8, 8.0));
  CHECK(under_any({"/slo"}, "/slo"));
  CHECK(under_any({"/slo"}, "/slo/ttft_ms"));
  CHECK_FALSE(under_any({"/slo"}, "/slow"));
  CHECK((shown_value(Json::array()) == "none" && shown_value("none yet") == "none yet" &&
         shown_value(7) == "7"));
}
