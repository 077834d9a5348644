// The charts of the page in a real browser, and the filters that say what they show.
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <set>

#include "sim/app/results/repetitions.h"
#include "test/app/report/open_page.h"

using namespace weir;
using namespace weir::test;

TEST_CASE(
    "report page: filters by words, by a key's values and by a range leave the same points in table and "
    "charts") {
  NEEDS_CHROMIUM
  OpenPage page(sample_sweep({.rates = 30}));
  const auto agree = [&](std::size_t count, const std::function<bool(const PointResult&)>& stays) {
    const std::vector<std::int64_t> rows = page.rows();
    CHECK(rows.size() == count);
    std::set<std::int64_t> charted;
    for (const Json& p : page.shown(1)) charted.insert(p["i"].get<std::int64_t>());
    CHECK(charted == std::set<std::int64_t>(rows.begin(), rows.end()));
    for (const PointResult& point : page.results.points) CHECK(charted.contains(point.index) == stays(point));
  };
  const auto tensor = [](const PointResult& p) { return p.varied[0].second.get<int>(); };
  const auto batching = [](const PointResult& p) { return p.varied[1].second.get<std::string>(); };
  const auto rate = [](const PointResult& p) { return p.varied[2].second.get<double>(); };

  page.wrote("tensor=4 STAT");
  agree(30, [&](const PointResult& p) { return tensor(p) == 4 && batching(p) == "static"; });
  page.wrote("no such point");
  agree(0, [](const PointResult&) { return false; });
  page.browser.click("#clear");
  agree(360, [](const PointResult&) { return true; });

  page.browser.click("[data-field='/serving/replicas/0/batching/kind'] summary");
  page.browser.click("[data-field='/serving/replicas/0/batching/kind'] input[value=orca]");
  agree(240, [&](const PointResult& p) { return batching(p) != "orca"; });
  page.browser.click("[data-field='/workload/arrivals/rate_per_s'] summary");
  page.browser.click("[data-field='/workload/arrivals/rate_per_s'] input");
  page.browser.type("50");
  agree(128, [&](const PointResult& p) { return batching(p) != "orca" && rate(p) >= 50; });
  CHECK(page.browser.complaints() == std::vector<std::string>{});
}

TEST_CASE(
    "report page: every metric and key can be an axis, linear and logarithmic, and every key the colour") {
  NEEDS_CHROMIUM
  OpenPage page(sample_sweep({.rates = 12, .fail_each = 13}));
  const Json axes = page.ask(
      "[...document.querySelectorAll('figure')[0].querySelectorAll('select[aria-label=x] option')].map(o => "
      "o.value)");
  CHECK(axes.size() > metric_names(page.results).size());
  for (const Json& axis : axes)
    for (const char* which : {"x", "y"}) {
      page.choose(0, which, axis);
      page.browser.evaluate(
          "document.querySelectorAll('figure')[0].querySelectorAll('.pair .toggle')[1].click()");
    }
  for (const char* control : {"colour", "lines"})
    for (const Json& key : page.ask("['', ...varied.map(f => f.id)]")) page.choose(1, control, key);
  CHECK(page.browser.complaints() == std::vector<std::string>{});

  page.choose(1, "x", "/serving/replicas/0/batching/kind");
  CHECK(page.ask("figures[1].chart.scales.x.ticks.map(t => t.label)") ==
        Json({"chunked_prefill", "orca", "static"}));
  page.choose(1, "x", "/workload/arrivals/rate_per_s");
  page.choose(1, "y", "p99_ttft_ms");
  page.choose(1, "lines", "/workload/arrivals/rate_per_s");
  for (const Json& p : page.shown(1)) {
    const auto i = p["i"].get<std::size_t>();
    CHECK(p["x"] == page.results.points[i].varied[2].second);
    CHECK(p["y"] == page.metric(i, "p99_ttft_ms"));
  }
  const Json lines = page.ask("figures[1].chart.data.datasets.slice(2).map(d => d.data.map(p => p.i))");
  CHECK(lines.size() == 12);  // 4 tensor times 3 batching
  for (const Json& line : lines)
    for (std::size_t k = 1; k < line.size(); ++k) {
      const Varied &a = page.results.points[line[k - 1].get<std::size_t>()].varied,
                   &b = page.results.points[line[k].get<std::size_t>()].varied;
      CHECK((a[0] == b[0] && a[1] == b[1] && a[2].second < b[2].second));
    }
}

TEST_CASE("report page: dragging in a chart zooms to what is between, and selects nothing") {
  NEEDS_CHROMIUM
  OpenPage page(sample_sweep({}));
  const auto [x1, y1] = page.place(1, 30);
  const auto [x2, y2] = page.place(1, 11);
  page.browser.drag(x1, y1, x2, y2);
  const auto axis = [&](const std::string& which, const std::string& end) {
    return page.ask("figures[1].chart.scales." + which + "." + end).get<double>();
  };
  for (const auto& [which, metric] : {std::pair("x", "output_throughput"), std::pair("y", "p99_ttft_ms")}) {
    const auto [low, high] = std::minmax({page.metric(30, metric), page.metric(11, metric)});
    CHECK(axis(which, "min") == Approx(low).epsilon(0.02));
    CHECK(axis(which, "max") == Approx(high).epsilon(0.02));
  }
  CHECK(page.ask("view.selected") == nullptr);
  page.ask("figures[1].canvas.dispatchEvent(new Event('dblclick'))");
  CHECK(axis("y", "max") > page.metric(11, "p99_ttft_ms") * 1.02);
  CHECK(page.browser.complaints() == std::vector<std::string>{});
}

TEST_CASE("report page: the Pareto front is what brute force finds, whichever way is better") {
  NEEDS_CHROMIUM
  OpenPage page(sample_sweep({.rates = 20, .fail_each = 13}));
  const std::pair<const char*, const char*> pairs[] = {{"tokens_per_s_per_user", "tokens_per_s_per_device"},
                                                       {"p99_ttft_ms", "output_throughput"},
                                                       {"energy_j", "p99_tpot_ms"}};
  for (const auto& pair : pairs) {
    const char *x = pair.first, *y = pair.second;
    INFO(x << " " << y);
    page.choose(0, "x", x);
    page.choose(0, "y", y);
    const double sx = less_is_better(x) ? -1 : 1, sy = less_is_better(y) ? -1 : 1;
    std::set<std::int64_t> expected;
    for (const PointResult& a : page.results.points) {
      if (a.status != "done") continue;
      const auto at = [&](const PointResult& p, const char* name, double sign) {
        return sign * page.metric(static_cast<std::size_t>(p.index), name);
      };
      const bool beaten =
          std::any_of(page.results.points.begin(), page.results.points.end(), [&](const PointResult& b) {
            return b.status == "done" && at(b, x, sx) >= at(a, x, sx) && at(b, y, sy) >= at(a, y, sy) &&
                   (at(b, x, sx) > at(a, x, sx) || at(b, y, sy) > at(a, y, sy));
          });
      if (!beaten) expected.insert(a.index);
    }
    const std::vector<std::int64_t> front = page.ask("figures[0].chart.data.datasets[0].data.map(p => p.i)");
    CHECK(std::set<std::int64_t>(front.begin(), front.end()) == expected);
    CHECK(front.size() > 1);
  }
}

TEST_CASE("report page: seeds are one point of a chart, their mean and its interval, or each by itself") {
  NEEDS_CHROMIUM
  OpenPage page(sample_sweep({.fail_each = 7, .seeds = 4}));
  const std::vector<Repeated> expected = repetitions(page.results);
  const Json shown = page.ask("figures[1].chart.data.datasets[1].data");  // of rounded numbers
  REQUIRE(shown.size() == expected.size());
  for (std::size_t k = 0; k < shown.size(); ++k) {
    const Estimate y = expected[k].metric("p99_ttft_ms");
    CHECK(shown[k]["all"].size() == expected[k].done().size());
    CHECK(shown[k]["y"].get<double>() == Approx(y.mean).epsilon(1e-5));
    if (y.count > 1)
      CHECK(shown[k]["estimates"]["y"]["half"].get<double>() == Approx(y.half_width).epsilon(0.01));
  }
  page.ask(
      "[...document.querySelectorAll('figure')[1].querySelectorAll('.toggle')].find(t => t.innerText === "
      "'seeds').click()");
  CHECK(page.shown(1).size() == 247);  // of 288, each seventh failed
  CHECK(page.browser.complaints() == std::vector<std::string>{});
}
