#include <catch2/catch.hpp>

#include <cmath>

#include "sim/app/compare/comparison.h"
#include "test/app/made_results.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;

namespace {

Json scenario(int tensor, int seed) {
  return {{"name", "of " + std::to_string(tensor)}, {"seed", seed}, {"serving", {{"tensor", tensor}}}};
}

const ComparedMetric& metric(const ComparedPoint& point, const std::string& name) {
  for (const ComparedMetric& m : point.metrics)
    if (m.name == name) return m;
  throw std::logic_error("no " + name);
}

// duration = value + (seed - 2) * spread over the seeds 1, 2, 3
std::vector<MadePoint> seeds(const std::vector<int>& rates, double value, double spread) {
  std::vector<MadePoint> points;
  for (const int rate : rates)
    for (int seed = 1; seed <= 3; ++seed)
      points.push_back(
          {{{"/rate", rate}, {"/seed", seed}},
           made_summary(scenario(1, seed), {{"duration", rate * (value + (seed - 2) * spread)}})});
  return points;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0, width = 0;
  for (const char c : text) {
    width = c == '\n' ? 0 : width + ((c & 0xC0) != 0x80);
    widest = std::max(widest, width);
  }
  return widest;
}

}  // namespace

TEST_CASE("compare: of runs, what differs in the scenarios and every metric's ratio, and no word on noise") {
  const ScratchDirectory scratch;
  make_run(scratch / "a", made_summary(scenario(1, 5), {{"duration", 10}, {"zero", 0}, {"failed", 0}}));
  make_run(scratch / "b", made_summary(scenario(4, 5), {{"duration", 4}, {"zero", 3}, {"failed", 0}}));
  const Comparison c = compare({read_results(scratch / "a"), read_results(scratch / "b")});
  REQUIRE(c.differences.size() == 1);
  CHECK(c.differences[0].pointer == "/serving/tensor");
  CHECK(c.differences[0].values == std::vector<Json>{1, 4});
  REQUIRE(c.points.size() == 1);
  CHECK(metric(c.points[0], "duration").ratio(1) == Approx(0.4));
  CHECK(std::isnan(metric(c.points[0], "zero").ratio(1)));  // 3 / 0
  CHECK(metric(c.points[0], "failed").ratio(1) == 1);       // 0 / 0: the same
  CHECK(metric(c.points[0], "duration").verdict(1) == Verdict::unknown);
  CHECK(comparison_json(c)["points"][0]["metrics"]["duration"]["noise"] == Json({nullptr, nullptr}));
}

TEST_CASE("compare: of a directory with itself every ratio is one and nothing differs") {
  const ScratchDirectory scratch;
  make_sweep(scratch / "a", seeds({1, 2}, 10, 1));
  const Comparison c = compare({read_results(scratch / "a"), read_results(scratch / "a")});
  CHECK(c.differences.empty());
  REQUIRE(c.points.size() == 2);
  for (const ComparedPoint& point : c.points)
    for (const ComparedMetric& m : point.metrics) {
      CHECK(m.ratio(1) == 1);
      CHECK(m.verdict(1) == Verdict::noise);
    }
}

TEST_CASE(
    "compare: sweeps' points are matched by their varied values, whatever their order, the rest is listed") {
  const ScratchDirectory scratch;
  make_sweep(scratch / "a", seeds({1, 2, 4}, 10, 0.1));
  std::vector<MadePoint> b = seeds({8, 4, 2}, 20, 0.1);
  for (MadePoint& point : b) point.varied[0].second = point.varied[0].second.get<double>();  // 2.0 is 2
  make_sweep(scratch / "b", b);
  const Comparison c = compare({read_results(scratch / "a"), read_results(scratch / "b")});
  REQUIRE(c.points.size() == 2);
  CHECK(c.points[0].varied == Varied{{"/rate", 2}});
  CHECK(c.points[1].varied == Varied{{"/rate", 4}});
  for (const ComparedPoint& point : c.points) CHECK(metric(point, "duration").ratio(1) == Approx(2));
  REQUIRE(c.unmatched[0].size() == 1);
  CHECK(c.unmatched[0][0] == Varied{{"/rate", 1}});
  CHECK(c.unmatched[1][0] == Varied{{"/rate", 8}});
}

// Means 10 and 10 + d, spread 1 over three seeds: each half width is t(2) / sqrt(3) = 2.484.
TEST_CASE("compare: a difference is noise up to the sum of the half widths, and real above") {
  const double half = 0.95 * std::sqrt(2 / (4 * 0.975 * 0.025)) / std::sqrt(3);
  for (const auto& [difference, verdict] :
       {std::pair{2 * half - 0.01, Verdict::noise}, std::pair{2 * half + 0.01, Verdict::real}}) {
    const ScratchDirectory scratch;
    make_sweep(scratch / "a", seeds({1}, 10, 1));
    make_sweep(scratch / "b", seeds({1}, 10 + difference, 1));
    const Comparison c = compare({read_results(scratch / "a"), read_results(scratch / "b")});
    CHECK(metric(c.points[0], "duration").values[0].half_width == Approx(half));
    CHECK(metric(c.points[0], "duration").verdict(1) == verdict);
  }
}

TEST_CASE("compare: a failed point is there, as failed") {
  const ScratchDirectory scratch;
  make_sweep(scratch / "a",
             {{{{"/rate", 1}}, made_summary(scenario(1, 1), {{"duration", 3}})}, {{{"/rate", 2}}, nullptr}});
  const Comparison c = compare({read_results(scratch / "a"), read_results(scratch / "a")});
  REQUIRE(c.points.size() == 2);
  CHECK(c.points[1].metrics.empty());
  CHECK_THAT(comparison_table(c, {"duration"}), Catch::Contains("failed"));
}

TEST_CASE("compare: the table fits 100 columns, for two sets and for nine") {
  const ScratchDirectory scratch;
  std::vector<ResultSet> runs, sweeps;
  for (int i = 0; i < 9; ++i) {
    const auto name = std::to_string(i);
    Json deep = {{"a_long_key_of_a_scenario",
                  {{"another_quite_long_key", {{"and_still_another_one_below_it", 1234567.5 * i}}}}}};
    make_run(scratch / ("run" + name),
             made_summary(deep, {{"p99_e2el_ms_of_something_with_a_long_name", 1.234567e-7 * (i + 1)}}));
    make_sweep(scratch / ("sweep" + name), seeds({1, 2, 4}, 1234.5 + i, 123.4));
    runs.push_back(read_results(scratch / ("run" + name)));
    sweeps.push_back(read_results(scratch / ("sweep" + name)));
    runs.back().directory = sweeps.back().directory = "d" + name;
    if (i == 0) continue;
    CHECK(widest_line(comparison_table(compare(runs), {})) <= 100);
    CHECK(widest_line(comparison_table(compare(sweeps), {"duration"})) <= 100);
  }
}

TEST_CASE("weir compare: sweeps that have no point in common are refused") {
  const ScratchDirectory scratch;
  make_sweep(scratch / "a", {{{{"/rate", 1}}, made_summary({{"rate", 1}}, {{"duration", 1}})}});
  make_sweep(scratch / "b", {{{{"/rate", 2}}, made_summary({{"rate", 2}}, {{"duration", 1}})}});
  const Ended ended = run_weir({"compare", scratch / "a", scratch / "b"});
  CHECK(ended.code == 2);
  CHECK(ended.out.empty());
  CHECK_THAT(ended.err, Catch::Contains("no point in common"));
}

TEST_CASE("weir compare: prints a table or JSON, and refuses what is no result with exit 2") {
  const ScratchDirectory scratch;
  make_run(scratch / "a", made_summary(scenario(1, 5), {{"output_throughput", 10}, {"mean_tpot_ms", 4}}));
  make_run(scratch / "b", made_summary(scenario(2, 5), {{"output_throughput", 15}, {"mean_tpot_ms", 7}}));
  const std::string a = scratch / "a", b = scratch / "b";
  CHECK_THAT(run_weir({"compare", a, b, "--metric", "mean_tpot_ms"}).out,
             Catch::Contains("1.750") && !Catch::Contains("output_throughput"));
  const Ended table = run_weir({"compare", a, b});
  CHECK(table.code == 0);
  CHECK_THAT(table.out, Catch::Contains("/serving/tensor") && Catch::Contains("1.500"));
  const Ended json = run_weir({"compare", a, b, "--json"});
  CHECK(Json::parse(json.out)["points"][0]["metrics"]["output_throughput"]["ratio"] == Json({1.0, 1.5}));
  CHECK(run_weir({"compare", a}).code == 2);
  CHECK(run_weir({"compare", a, scratch / "absent"}).code == 2);
  const Ended misspelt = run_weir({"compare", a, b, "--metric", "output_thruput"});
  CHECK(misspelt.code == 2);
  CHECK_THAT(misspelt.err, Catch::Contains("did you mean"));
}

TEST_CASE("weir compare: dollars stand before their numbers, other metrics have none") {
  const ScratchDirectory scratch;
  for (const double dollars : {0.5, 0.25})
    make_run(scratch / (dollars == 0.5 ? "a" : "b"),
             made_summary(Json::object(), {{"cost", {{"dollars", dollars}, {"dollars_per_hour", 2.69}}},
                                           {"energy_j", 7.25}}));
  const Ended ended = run_weir({"compare", scratch / "a", scratch / "b"});
  INFO(ended.out << ended.err);
  CHECK(ended.code == 0);
  CHECK_THAT(ended.out,
             Catch::Contains(" $0.5 ") && Catch::Contains(" $0.25 ") && Catch::Contains(" $2.69 "));
  CHECK_THAT(ended.out, Catch::Contains(" 7.25 ") && !Catch::Contains("$7.25"));
}
