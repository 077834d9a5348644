// The page says first who won, and where the SLO lies.
#include <catch2/catch.hpp>

#include "test/app/report/open_page.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("report page: opens with the winner and why, rows in that order, and leads back to it") {
  NEEDS_CHROMIUM
  ResultSet results = sample_sweep({.fail_each = 13});
  results.resolved = {{"cheapest",
                       {{"ttft_ms", 500},
                        {"tpot_ms", 25},
                        {"percentile", 99},
                        {"objective", "dollars_per_mtok"},
                        {"per", {"/serving/replicas/0/batching/kind"}}}}};
  double least = 1e300;
  std::int64_t best = -1;
  for (PointResult& point : results.points) {
    if (point.status != "done") continue;
    point.summary["meets_slo"] = metric_of(point.summary, "p99_ttft_ms") <= 500 ? 1 : 0;
    const double dollars = metric_of(point.summary, "cost_dollars_per_million_output_tokens");
    if (point.varied[1].second == "orca" && point.summary["meets_slo"] == 1 && dollars < least)
      least = dollars, best = point.index;
    point.summary["cheapest"] = 0;
  }
  REQUIRE(best >= 0);
  results.points[static_cast<std::size_t>(best)].summary["cheapest"] = 1;
  OpenPage page(results);
  const std::string said = page.text_of("#verdict");
  INFO(said);
  CHECK_THAT(
      said,
      Catch::Contains(
          "Least dollars_per_mtok (ties: latency) with 99 % of requests within TTFT 500 ms and TPOT 25 ms"));
  CHECK_THAT(said,
             Catch::Contains("orca: TP") && Catch::Contains("/Mtok (p99 TTFT ") && Catch::Contains("next "));
  CHECK(page.rows().at(0) == best);
  CHECK(page.ask("document.querySelector('#verdict').getBoundingClientRect().top < "
                 "document.querySelector('#figures').getBoundingClientRect().top") == true);
  const std::vector<std::int64_t> order = page.rows();
  CHECK(page.ask("getComputedStyle($('best')).display") == "none");
  page.browser.click("th[data-field=p99_ttft_ms] button");
  CHECK(page.rows() != order);
  page.browser.click("#best");
  CHECK(page.rows() == order);
  const std::string cell =
      page.text_of("tbody tr td:nth-child(" +
                   std::to_string(page.ask("view.columns.indexOf('cost_dollars_per_million_"
                                           "output_tokens') + 1")
                                      .get<int>()) +
                   ")");
  CHECK(cell.starts_with("$"));
  CHECK(page.browser.complaints() == std::vector<std::string>{});
}

TEST_CASE("report page: a line where the SLO is in every chart of what it bounds, or word of where it is") {
  NEEDS_CHROMIUM
  ResultSet results = sample_sweep({});
  results.resolved = {{"capacity", {{"ttft_ms", 400}, {"tpot_ms", 20}, {"percentile", 99}}}};
  OpenPage page(results);
  page.choose(1, "x", "median_tpot_ms");
  page.choose(1, "y", "p99_ttft_ms");
  CHECK(page.ask("figures[1].chart.slo.x.bound") == 20);
  CHECK(page.ask("figures[1].chart.slo.y.bound") == 400);
  CHECK(page.ask("(() => { const {y} = figures[1].chart.scales; return y.min < 400 && 400 < y.max; })()") ==
        true);
  const std::string dashed =  // of the line's own colour, where it runs
      "(() => { const c = figures[1].chart, r = c.currentDevicePixelRatio, at = "
      "c.scales.y.getPixelForValue(400), "
      "d = c.ctx.getImageData(c.chartArea.left * r, Math.floor(at * r) - 1, c.chartArea.width * r, 3).data; "
      "let red = "
      "0; for (let k = 0; k < d.length; k += 4) red += d[k] > 150 && d[k] < 200 && d[k + 1] < 60; "
      "return red; "
      "})()";
  CHECK(page.ask(dashed).get<int>() > 100);
  page.choose(1, "y", "output_throughput");
  CHECK(page.ask("figures[1].chart.slo.y") == nullptr);
  page.choose(1, "y", "std_ttft_ms");
  CHECK(page.ask("figures[1].chart.slo.y") == nullptr);
  CHECK(page.browser.complaints() == std::vector<std::string>{});
  results.resolved["capacity"]["ttft_ms"] = 5e6;
  OpenPage far(results);
  far.choose(1, "y", "p99_ttft_ms");
  CHECK_THAT(far.text_of("figure:nth-child(2) .caption"),
             Catch::Contains("the SLO on p99 TTFT (ms), 5,000,000"));
}
