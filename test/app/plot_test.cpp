// Figures through the real command and the real gnuplot: what is drawn, that gnuplot has nothing to say, and
// that the data beside the figure are those of the results. That they look right is looked at, not tested.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "sim/app/plot/canvas.h"
#include "sim/app/results/csv.h"
#include "test/app/made_results.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

const std::string rate = "/workload/arrivals/rate_per_s", kind = "/serving/replicas/0/batching/kind",
                  tokens = "/serving/replicas/0/batching/max_batch_tokens";

// Throughput saturates at 100 a second, latency grows with the load; `speed` of the configuration.
Json point_summary(double load, double speed) {
  const double x = load / speed / 10, ttft = 20 / speed * (1 + x * x), tpot = 8 / speed * (1 + x);
  Json metrics = {{"duration", 10.0},
                  {"output_throughput", 100 * std::min(load, 10 * speed)},
                  {"output_tokens_per_joule", speed}};
  for (const auto& [q, f] :
       {std::pair{"mean", 1.1}, {"p50", 1.0}, {"median", 1.0}, {"p90", 1.5}, {"p95", 2.0}, {"p99", 3.0}}) {
    metrics[std::string(q) + "_ttft_ms"] = ttft * f;
    metrics[std::string(q) + "_tpot_ms"] = tpot * f;
  }
  metrics["devices"] = {{{"name", "replica 0 stage 0"},
                         {"kind", "h100_sxm"},
                         {"devices", 2},
                         {"compute_bound_s", 2},
                         {"memory_bound_s", 5},
                         {"link_bound_s", 1},
                         {"host_bound_s", 0.5},
                         {"energy_j", 5e3}}};
  return made_summary(Json::object(), metrics);
}

struct Sizes {
  int kinds = 1, chunks = 1, rates = 1, seeds = 1;
  bool failures = false;
};

std::vector<MadePoint> grid(const Sizes& sizes) {
  std::vector<MadePoint> points;
  for (int k = 0; k < sizes.kinds; ++k)
    for (int c = 0; c < sizes.chunks; ++c)
      for (int r = 1; r <= sizes.rates; ++r)
        for (int s = 1; s <= sizes.seeds; ++s) {
          Varied varied;
          if (sizes.kinds > 1) varied.emplace_back(kind, "it's_kind \"" + std::to_string(k) + "\" of {50 %}");
          if (sizes.chunks > 1) varied.emplace_back(tokens, 512 << c);
          if (sizes.rates > 1) varied.emplace_back(rate, r);
          if (sizes.seeds > 1) varied.emplace_back("/seed", s);
          const bool failed = sizes.failures && (k + c + r) % 3 == 0;
          points.push_back({varied, failed ? Json() : point_summary(r, (1 + k + 0.3 * c) * (1 + 0.02 * s))});
        }
  return points;
}

std::set<std::string> drawn(const fs::path& directory) {
  std::set<std::string> names;
  if (fs::exists(directory / "plots"))
    for (const auto& entry : fs::directory_iterator(directory / "plots"))
      if (entry.is_regular_file()) names.insert(entry.path().stem());
  return names;
}

}  // namespace

TEST_CASE("weir plot: draws what makes sense for a sweep, and gnuplot has nothing to say") {
  struct Case {
    const char* what;
    Sizes sizes;
    std::set<std::string> figures;
  };
  const std::set<std::string> lines{"throughput_latency", "pareto", "cdf", "breakdown"},
      all{"throughput_latency", "pareto", "cdf", "breakdown", "heatmap"};
  const Case cases[] = {
      {"two loads", {.rates = 2}, lines},
      {"one key, no number", {.kinds = 3}, lines},
      {"two keys", {.kinds = 3, .rates = 6}, all},
      {"two keys, points that failed", {.kinds = 3, .rates = 6, .failures = true}, all},
      {"repeated seeds", {.kinds = 2, .rates = 3, .seeds = 3}, all},
      {"three keys, 200 points", {.kinds = 4, .chunks = 5, .rates = 10}, all},
      {"more lines than colours", {.kinds = 12, .rates = 3}, all},
  };
  for (const Case& c : cases) {
    INFO(c.what);
    const ScratchDirectory scratch;
    make_sweep(scratch / "sweep", grid(c.sizes));
    const Ended ended = run_weir({"plot", scratch / "sweep"});
    CHECK(ended.code == 0);
    CHECK(ended.err == "");
    CHECK(drawn(scratch / "sweep") == c.figures);
    for (const std::string& name : c.figures) {
      CHECK_THAT(ended.out, Catch::Contains((scratch / "sweep/plots").string() + "/" + name + ".svg\n"));
      CHECK(fs::exists(scratch / "sweep/plots/figures" / (name + ".gp")));
      CHECK(fs::exists(scratch / "sweep/plots/figures" / (name + ".csv")));
    }
  }
}

TEST_CASE("weir plot: a sweep whose points all failed has no figure, and says why where one is asked for") {
  const ScratchDirectory scratch;
  make_sweep(scratch / "sweep", {{{{rate, 1}}, nullptr}, {{{rate, 2}}, nullptr}});
  CHECK(run_weir({"plot", scratch / "sweep"}).code == 0);
  CHECK(drawn(scratch / "sweep").empty());
  const Ended asked = run_weir({"plot", scratch / "sweep", "--kind", "pareto"});
  CHECK(asked.code == 2);
  CHECK_THAT(asked.err, Catch::Contains("fewer than two points"));
}

TEST_CASE("weir plot: a real run is drawn in every format, and the CDF's data are the requests' quantiles") {
  const ScratchDirectory scratch;
  REQUIRE(run_weir({"run", shipped("quickstart.json"), "--quiet", "--out", scratch / "run"}).code == 0);
  for (const std::string format : {"svg", "pdf", "png"}) {
    const Ended ended = run_weir({"plot", scratch / "run", "--format", format});
    CHECK(ended.code == 0);
    CHECK(ended.err == "");
    for (const std::string name : {"cdf", "breakdown", "occupancy"})
      CHECK(fs::file_size(scratch / ("run/plots/" + name + "." + format)) > 1000);
  }
  std::vector<double> ttft = read_columns(scratch / "run/requests.csv", {"ttft_ms"})[0];
  std::sort(ttft.begin(), ttft.end());
  const auto drawn_data = read_columns(scratch / "run/plots/figures/cdf.csv", {"share", "ttft_ms"});
  REQUIRE(drawn_data[0].size() > 100);
  for (std::size_t i = 0; i < drawn_data[0].size(); ++i) {
    const double share = drawn_data[0][i];
    const auto at_most = std::upper_bound(ttft.begin(), ttft.end(), drawn_data[1][i]) - ttft.begin();
    CHECK(static_cast<double>(at_most) / static_cast<double>(ttft.size()) ==
          Approx(share).margin(1.5 / static_cast<double>(ttft.size())));
  }
}

TEST_CASE("weir plot: the Pareto figure's front is that of all points, by brute force") {
  const ScratchDirectory scratch;
  make_sweep(scratch / "sweep", grid({.kinds = 4, .chunks = 3, .rates = 5}));
  REQUIRE(run_weir({"plot", scratch / "sweep", "--kind", "pareto", "--x", "p99_ttft_ms", "--y",
                    "output_throughput"})
              .code == 0);
  std::ifstream in(scratch / "sweep/plots/figures/pareto.csv");
  std::vector<std::pair<double, double>> points;
  std::vector<bool> front;
  std::string line;
  for (std::getline(in, line); std::getline(in, line);) {
    double x = 0, y = 0;
    int on = 0;
    if (std::sscanf(line.c_str(), "%lf,%lf,%d", &x, &y, &on) == 3)
      points.emplace_back(x, y), front.push_back(on);
  }
  REQUIRE(points.size() == 60);
  for (std::size_t i = 0; i < points.size(); ++i) {
    bool beaten = false;
    for (const auto& [x, y] : points)
      beaten |= x <= points[i].first && y >= points[i].second && std::pair(x, y) != points[i];
    CHECK(front[i] == !beaten);
  }
}

TEST_CASE("weir plot: a heat map takes the best over keys it does not show, --where takes one value") {
  const ScratchDirectory scratch;
  make_sweep(scratch / "sweep", grid({.kinds = 2, .chunks = 3, .rates = 4}));
  const auto check_cells = [&](int k, std::vector<std::string> more) {
    std::vector<std::string> arguments{"plot",    scratch / "sweep", "--kind",
                                       "heatmap", "--metric",        "mean_tpot_ms"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended ended = run_weir(arguments);
    INFO(ended.err);
    CHECK(ended.code == 0);
    const auto cells = read_columns(scratch / "sweep/plots/figures/heatmap.csv", {"x", "y", "value"});
    REQUIRE(cells[0].size() == 12);
    for (std::size_t i = 0; i < 12; ++i) {
      const Json summary = point_summary(cells[0][i] + 1, (1 + k + 0.3 * cells[1][i]) * 1.02);
      CHECK(cells[2][i] == Approx(summary["mean_tpot_ms"].get<double>()));
    }
  };
  check_cells(1, {});  // the faster one
  check_cells(0, {"--where", "batching=it's_kind \"0\" of {50 %}"});
}

TEST_CASE("weir plot: a figure says which points it leaves out and why, and where the SLO is") {
  const ScratchDirectory scratch;
  std::vector<MadePoint> points = grid({.kinds = 2, .rates = 4});
  points[1].summary = nullptr;
  points[6].summary["mean_tpot_ms"] = nullptr;
  for (MadePoint& point : points)
    if (!point.summary.is_null()) point.summary["scenario"]["slo"] = {{"ttft_ms", 40}, {"tpot_ms", 1e6}};
  make_sweep(scratch / "sweep", points, 3);
  REQUIRE(run_weir({"plot", scratch / "sweep"}).code == 0);
  const std::string lines = contents(scratch / "sweep/plots/figures/throughput_latency.gp");
  CHECK_THAT(lines, Catch::Contains(
                        "\"Left out: 1 point that failed, 1 without mean TPOT (ms), 3 that have not run\""));
  CHECK_THAT(lines, Catch::Contains("\"SLO 40\"") && Catch::Contains("\"SLO 1M is above\""));
  CHECK_THAT(
      contents(scratch / "sweep/plots/figures/breakdown.gp"),
      Catch::Contains("\"Left out: 1 point that failed, 3 that have not run, 5 points of fewer output\"") &&
          Catch::Contains("\"tokens/s than their bar's\""));
  make_sweep(scratch / "whole", grid({.kinds = 2, .rates = 4}));
  REQUIRE(run_weir({"plot", scratch / "whole"}).code == 0);
  CHECK_THAT(contents(scratch / "whole/plots/figures/throughput_latency.gp"),
             !Catch::Contains("Left out") && !Catch::Contains("SLO"));
}

TEST_CASE("weir plot: of numbers that go together one is shown, the load") {
  const ScratchDirectory scratch;
  std::vector<MadePoint> points;
  for (const char* kind : {"orca", "static"})
    for (const int requests : {64, 128, 256})
      points.push_back({{{"/serving/replicas/0/batching/kind", kind},
                         {"/serving/replicas/0/batching/max_batch_requests", requests},
                         {"/workload/arrivals/concurrency", requests}},
                        point_summary(requests, 1)});
  make_sweep(scratch / "sweep", points);
  REQUIRE(run_weir({"plot", scratch / "sweep"}).code == 0);
  CHECK_THAT(contents(scratch / "sweep/plots/figures/heatmap.gp"), Catch::Contains("Concurrency\""));
  const std::string lines = contents(scratch / "sweep/plots/figures/throughput_latency.gp");
  CHECK_THAT(lines, Catch::Contains("orca\"") && !Catch::Contains("128"));
}

TEST_CASE("weir plot: bad input is exit 2 and says what there is") {
  const ScratchDirectory scratch;
  make_sweep(scratch / "sweep", grid({.kinds = 2, .rates = 2}));
  const std::string sweep = scratch / "sweep";
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--kind", "pie"}, "known: throughput_latency"},
      {{"--format", "gif"}, "svg"},
      {{"--kind", "pareto", "--x", "p99_ttft"}, "did you mean"},
      {{"--kind", "heatmap", "--x", "count"}, "no key that varies"},
      {{"--kind", "occupancy"}, "time series"},
      {{"--where", "rate_per_s=9"}, "known: 1, 2"},
      {{"--x", "duration"}, "--kind"},
  };
  for (const auto& [arguments, word] : cases) {
    std::vector<std::string> all{"plot", sweep};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Ended ended = run_weir(all);
    INFO(word);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains(word));
  }
  CHECK(run_weir({"plot", scratch / "absent"}).code == 2);
  CHECK_FALSE(fs::exists(scratch / "absent"));
  CHECK(run_weir({"plot", sweep, "--kind", "pareto", "--out", scratch / "new/deep/plots"}).code == 0);
  CHECK(fs::exists(scratch / "new/deep/plots/pareto.svg"));
}

TEST_CASE("canvas: an axis holds its data and its tics, whatever the data") {
  const std::vector<std::vector<double>> cases = {
      {1, 2, 3}, {0.001, 1000}, {5, 5}, {0, 0}, {}, {-3, 7}, {1e-7, 2e-7}, {9.9e8, 1e9}, {std::nan(""), 4}};
  for (const auto& values : cases)
    for (const From from : {From::data, From::zero}) {
      const ChartAxis axis = axis_over(values, from);
      CHECK(axis.high > axis.low);
      CHECK(axis.tics.size() >= 2);
      CHECK(axis.tics.size() <= 12);
      for (const double value : values)
        if (std::isfinite(value)) CHECK((axis.place(value) >= 0 && axis.place(value) <= 1));
      for (const double tic : axis.tics) CHECK((axis.place(tic) >= -1e-9 && axis.place(tic) <= 1 + 1e-9));
    }
}

TEST_CASE(
    "canvas: a text is cut to fit with two dots at its end, never within a letter, however long it is") {
  CHECK(cut_to("short", 1000, 20) == "short");
  const std::string letters = "h\xC3\xA9" + std::string(1'000'000, 'a');  // é is two bytes
  for (double width = 40; width < 200; width += 7) {
    const std::string cut = cut_to(letters, width, 20);
    CHECK(text_width(cut, 20) <= width + 1e-9);
    CHECK(text_width(cut + "a", 20) > width);
    CHECK(cut.ends_with(".."));
    CHECK_NOTHROW(Json(cut).dump());
  }
}
