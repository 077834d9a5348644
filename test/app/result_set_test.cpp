#include <catch2/catch.hpp>

#include <cmath>
#include <random>

#include "sim/app/results/labels.h"
#include "sim/app/results/metric.h"
#include "sim/app/results/repetitions.h"
#include "test/app/made_results.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("results: a run's and a sweep's directory are read as what was put there") {
  const ScratchDirectory scratch;
  make_run(scratch / "run", made_summary({{"name", "a run"}, {"seed", 3}}, {{"output_throughput", 5.5}}));
  const ResultSet run = read_results(scratch / "run");
  CHECK_FALSE(run.sweep);
  CHECK(run.name == "a run");
  REQUIRE(run.points.size() == 1);
  CHECK(run.points[0].status == "done");
  CHECK(run.points[0].summary["output_throughput"] == 5.5);

  make_sweep(scratch / "sweep", {{{{"/a", 1}, {"/seed", 7}}, made_summary({{"a", 1}}, {{"duration", 2}})},
                                 {{{"/a", 2}, {"/seed", 7}}, nullptr}});
  const ResultSet sweep = read_results(scratch / "sweep");
  CHECK(sweep.sweep);
  CHECK(sweep.varied == std::vector<std::string>{"/a", "/seed"});
  REQUIRE(sweep.points.size() == 2);
  CHECK(sweep.points[0].summary["duration"] == 2);
  CHECK(sweep.points[1].status == "failed");
  CHECK(sweep.points[1].error == "out of memory");
  CHECK(sweep.points[1].varied == Varied{{"/a", 2}, {"/seed", 7}});
}

TEST_CASE("results: of an interrupted sweep, plot and report tell how many points are missing") {
  const ScratchDirectory scratch;
  const Json summary = made_summary({{"rate", 1}}, {{"duration", 2}, {"output_throughput", 3}});
  make_sweep(scratch / "whole", {{{{"/rate", 1}}, summary}});
  make_sweep(scratch / "cut", {{{{"/rate", 1}}, summary}}, 3);
  CHECK(what_is_missing(read_results(scratch / "whole")) == "");
  const std::string told = what_is_missing(read_results(scratch / "cut"));
  CHECK_THAT(told, Catch::StartsWith("3 of 4 points have no result yet"));
  for (const char* command : {"plot", "report"}) {
    CHECK_THAT(run_weir({command, scratch / "cut"}).err, Catch::Contains("note: " + told));
    CHECK_THAT(run_weir({command, scratch / "whole"}).err, !Catch::Contains("no result yet"));
  }
}

TEST_CASE("results: what is no result directory is refused with its name") {
  const ScratchDirectory scratch;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories((scratch / name).parent_path());
    std::ofstream(scratch / name) << text;
  };
  write("empty/else.txt", "");
  write("no_summary/summary.json", "{\"name\": 1}");
  write("list/summary.json", "[]");
  write("torn/summary.json", "{\"request_thr");
  write("not_sqlite/results.sqlite", "PK");
  make_sweep(scratch / "damaged", {{{{"/a", 1}}, made_summary(Json::object(), Json::object())}});
  std::filesystem::resize_file(scratch / "damaged/results.sqlite", 5000);
  write("file", "");
  for (const char* name :
       {"absent", "empty", "no_summary", "list", "torn", "not_sqlite", "damaged", "file"}) {
    INFO(name);
    CHECK_THROWS_AS(read_results(scratch / name), ConfigError);
    CHECK_THROWS_WITH(read_results(scratch / name), Catch::Contains((scratch / name).string()));
  }
}

TEST_CASE(
    "metrics: scalars by name, nested ones behind their object's, null is NaN, lists and texts are left "
    "out") {
  const auto metrics = scalar_metrics({{"name", "x"},
                                       {"duration", 2},
                                       {"request_goodput", nullptr},
                                       {"devices", {{{"busy_s", 1}}}},
                                       {"cost", {{"dollars", 0.5}}},
                                       {"bound", {{"by", "memory"}}},
                                       {"scenario", {{"seed", 1}}}});
  REQUIRE(metrics.size() == 3);
  CHECK(metrics[0] == std::pair<std::string, double>("duration", 2));
  CHECK(metrics[1].first == "request_goodput");
  CHECK(std::isnan(metrics[1].second));
  CHECK(metrics[2] == std::pair<std::string, double>("cost_dollars", 0.5));
}

TEST_CASE("metrics: derived ones follow from those of the summary") {
  const Json s = {{"output_throughput", 100},
                  {"median_tpot_ms", 20},
                  {"output_tokens_per_joule", 4},
                  {"devices", {{{"devices", 2}}, {{"devices", 3}}}}};
  CHECK(metric_of(s, "tokens_per_s_per_device") == 20);
  CHECK(metric_of(s, "tokens_per_s_per_user") == 50);
  CHECK(metric_of(s, "joules_per_output_token") == 0.25);
  CHECK(std::isnan(metric_of(s, "nothing")));
  CHECK(std::isnan(metric_of(s, "tokens_per_s_per_mm2")));  // nobody said how large they are
  Json sized = s;
  sized["devices"] = {{{"devices", 2}, {"die_mm2", 5}}, {{"devices", 3}, {"die_mm2", nullptr}}};
  CHECK(std::isnan(metric_of(sized, "tokens_per_s_per_mm2")));
  sized["devices"][1]["die_mm2"] = 10;
  CHECK(metric_of(sized, "tokens_per_s_per_mm2") == 2.5);
}

// Student's t has a closed quantile for one and two degrees of freedom: tan(pi (p - 1/2)), and
// (2p - 1) sqrt(2 / (4p (1 - p))).
TEST_CASE("estimates: 95 % intervals of two and three values are the closed forms") {
  const Estimate two = estimate({1, 3});
  CHECK(two.mean == 2);
  CHECK(two.half_width == Approx(std::tan(M_PI * 0.475) * std::sqrt(2) / std::sqrt(2)));
  const Estimate three = estimate({1, 2, 6});
  const double t = 0.95 * std::sqrt(2 / (4 * 0.975 * 0.025)), deviation = std::sqrt((4 + 1 + 9) / 2.0);
  CHECK(three.mean == 3);
  CHECK(three.half_width == Approx(t * deviation / std::sqrt(3)));
  CHECK(std::isnan(estimate({5}).half_width));
  CHECK(std::isnan(estimate({}).mean));
  CHECK(estimate({4, 4, 4}).half_width == 0);
}

TEST_CASE("estimates: 95 of 100 intervals hold the true mean") {
  std::mt19937_64 random(1);
  std::normal_distribution<double> law(10, 3);
  int held = 0;
  constexpr int trials = 4000;
  for (int i = 0; i < trials; ++i) {
    std::vector<double> values;
    for (int k = 0; k < 4; ++k) values.push_back(law(random));
    const Estimate e = estimate(values);
    held += std::abs(e.mean - 10) <= e.half_width;
  }
  CHECK(held / double{trials} == Approx(0.95).margin(0.015));  // four standard errors
}

TEST_CASE("repetitions: points that differ in their seed alone are one") {
  ResultSet results;
  results.varied = {"/a", "/seed"};
  for (int a = 0; a < 2; ++a)
    for (int seed = 0; seed < 3; ++seed) {
      results.points.emplace_back();
      results.points.back().varied = {{"/a", a}, {"/seed", seed}};
      results.points.back().status = a == 1 && seed == 2 ? "failed" : "done";
      results.points.back().summary = {{"duration", 10 * a + seed}};
    }
  const auto repeated = repetitions(results);
  REQUIRE(repeated.size() == 2);
  CHECK(repeated[1].varied == Varied{{"/a", 1}});
  CHECK(repeated[0].metric("duration").mean == 1);
  CHECK(repeated[1].metric("duration").count == 2);  // one failed
  CHECK(repeated[1].metric("duration").mean == 10.5);
}

TEST_CASE("labels: a layout by its ranks above one, other keys by name and value") {
  const std::string replica = "/serving/replicas/0";
  const auto layout = [&](int t, int p, int d) {
    return Varied{{replica + "/parallelism/tensor", t},
                  {replica + "/parallelism/pipeline", p},
                  {replica + "/count", d}};
  };
  CHECK(label_of(layout(4, 2, 1)) == "TP4 PP2");
  CHECK(label_of(layout(1, 1, 1)) == "TP1");
  CHECK(label_of(layout(1, 1, 8)) == "DP8");
  CHECK(label_of({{replica + "/batching/kind", "orca"}, {"/workload/arrivals/rate_per_s", 2.5}}) ==
        "orca, rate_per_s 2.5");
  CHECK(short_name("/cluster/nodes/0/devices/0/kind") == "devices");
}
