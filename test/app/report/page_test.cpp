// The page in a real browser. Each case asks the page what it shows, and the results what it should.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "sim/app/report/page.h"
#include "sim/app/results/metric.h"
#include "sim/app/results/repetitions.h"
#include "test/app/report/browser.h"
#include "test/app/report/sample_sweep.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;

namespace {

#define NEEDS_CHROMIUM                                                    \
  if (!Browser::installed()) {                                            \
    WARN("skipped: no /usr/bin/chromium (make setup installs Debian's)"); \
    return;                                                               \
  }

class OpenPage {
 public:
  explicit OpenPage(ResultSet shown, const Screen& screen = {}) : results(std::move(shown)), browser(screen) {
    std::ofstream(file()) << report_page(results);
    browser.open(file());
  }
  std::filesystem::path file() const { return scratch_ / "page.html"; }

  Json ask(const std::string& script) { return browser.evaluate(script); }
  std::vector<std::int64_t> rows() {
    return ask("[...document.querySelectorAll('#table tbody tr')].map(r => +r.dataset.point)");
  }
  std::string text_of(const std::string& selector) {
    return ask("document.querySelector('" + selector + "').innerText");
  }
  void choose(int chart, const std::string& control, const std::string& value) {
    ask("(() => { const s = document.querySelectorAll('figure')[" + std::to_string(chart) +
        "].querySelector('select[aria-label=" + control + "]'); s.value = " + Json(value).dump() +
        "; if (s.value !== " + Json(value).dump() +
        ") throw Error('no such choice'); s.dispatchEvent(new Event('change')); })()");
  }
  // The points a chart shows: [{x, y, i}]
  Json shown(int chart) { return ask("figures[" + std::to_string(chart) + "].chart.data.datasets[1].data"); }
  // Where a point lies in the window, once the layout stands still: charts follow their cards by a frame or
  // two.
  std::pair<double, double> place(int chart, std::int64_t point) {
    const std::string figure = "figures[" + std::to_string(chart) + "]";
    ask(figure + ".canvas.scrollIntoView({block: 'center'})");
    const Json at =
        ask("new Promise(done => { let before, still = 0; const look = () => { const f = " + figure +
            ", k = f.chart.data.datasets[1].data.findIndex(p => p.i === " + std::to_string(point) +
            "), b = f.canvas.getBoundingClientRect(), e = f.chart.getDatasetMeta(1).data[k], " +
            "now = [b.x + e.x, b.y + e.y]; still = String(now) === before ? still + 1 : 0; " +
            "before = String(now); still < 5 ? requestAnimationFrame(look) : done(now); }; look(); })");
    return {at[0], at[1]};
  }
  // The point of a chart that is farthest from the next one: others may lie on top of each other.
  std::size_t loneliest(int chart) {
    place(chart, shown(chart)[0]["i"]);
    return ask(
        "(() => { const c = figures[" + std::to_string(chart) + "].chart, e = c.getDatasetMeta(1).data, " +
        "gaps = e.map(a => Math.min(...e.filter(b => b !== a).map(b => Math.hypot(a.x - b.x, a.y - b.y))));"
        " return c.data.datasets[1].data[gaps.indexOf(Math.max(...gaps))].i; })()");
  }
  void wrote(const std::string& filter) {
    browser.click("#filter");
    ask("document.querySelector('#filter').select()");
    browser.type(filter);
  }
  double metric(std::size_t point, const std::string& name) const {
    return significant(metric_of(results.points[point].summary, name));
  }

  const ResultSet results;
  Browser browser;

 private:
  ScratchDirectory scratch_;
};

Json rounded(Json value, bool scenario = false) {
  if (value.is_number_float() && !scenario) return significant(value.get<double>());
  if (value.is_structured())
    for (auto& [key, below] : value.items()) below = rounded(below, scenario || key == "scenario");
  return value;
}

}  // namespace

TEST_CASE(
    "report page: opens from a file without a complaint or a request, light and dark, wide and narrow") {
  NEEDS_CHROMIUM
  for (const Screen& screen :
       {Screen{}, Screen{.dark = true}, Screen{.width = 390, .height = 844, .dark = true}}) {
    OpenPage page(sample_sweep({.fail_each = 13}), screen);
    CHECK(page.ask("document.title") == "Layouts of llama3.1-8b <on> \"H100\" </script> · Weir");
    CHECK(page.rows().size() == page.results.points.size());
    CHECK(page.shown(0).size() == 67);                                              // of 72, 5 failed
    CHECK(page.ask("document.documentElement.scrollWidth <= innerWidth") == true);  // nothing sticks out
    const auto luminance =
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).reduce((a, b) => a + +b, 0) / 3";
    CHECK((page.ask(luminance).get<double>() < 128) == screen.dark);
    page.browser.click("#theme");
    CHECK((page.ask(luminance).get<double>() < 128) != screen.dark);
    CHECK(page.ask("figures[0].chart.options.scales.x.title.color === css('--text')") == true);
    page.browser.print_as_pdf(page.file().string() + ".pdf");
    CHECK(std::filesystem::file_size(page.file().string() + ".pdf") > 10'000);
    CHECK(page.browser.complaints() == std::vector<std::string>{});
  }
}

TEST_CASE("report page: gives back every point's whole summary, numbers rounded and scenario exact") {
  NEEDS_CHROMIUM
  OpenPage page(sample_sweep({.fail_each = 13}));
  const Json summaries = page.ask("points.map((_, i) => summaryOf(i))");
  for (std::size_t i = 0; i < page.results.points.size(); ++i) {
    INFO("point " << i);
    CHECK(nlohmann::json(summaries[i]) ==
          nlohmann::json(rounded(page.results.points[i].summary)));  // in any order
  }
}

TEST_CASE(
    "report page: a click on a heading sorts, a second one turns the order, what has no value is last") {
  NEEDS_CHROMIUM
  OpenPage page(sample_sweep({.fail_each = 13}));
  const auto expected = [&](bool descending) {
    std::vector<std::int64_t> order;
    for (const PointResult& point : page.results.points) order.push_back(point.index);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      const double x = page.metric(static_cast<std::size_t>(a), "p99_ttft_ms"),
                   y = page.metric(static_cast<std::size_t>(b), "p99_ttft_ms");
      return std::isnan(y) ? !std::isnan(x) : descending ? x > y : x < y;
    });
    return order;
  };
  page.browser.click("th[data-field=p99_ttft_ms] button");
  CHECK(page.rows() == expected(false));
  CHECK(page.ask("document.querySelector('th[data-field=p99_ttft_ms]').ariaSort") == "ascending");
  page.browser.click("th[data-field=p99_ttft_ms] button");
  CHECK(page.rows() == expected(true));
  page.browser.click("th[data-field=output_throughput] button");  // more is better: the best come first
  CHECK(page.ask("document.querySelector('th[data-field=output_throughput]').ariaSort") == "descending");
  CHECK(page.browser.complaints() == std::vector<std::string>{});
}

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

TEST_CASE("report page: hovering a point shows its configuration, clicking it everything about it") {
  NEEDS_CHROMIUM
  OpenPage page(sample_sweep({.rates = 8, .fail_each = 13}));
  const std::size_t point = page.loneliest(0);
  const std::string heading = fmt::format("Point {}", point);
  const auto [x, y] = page.place(0, static_cast<std::int64_t>(point));
  page.browser.hover(x, y);
  CHECK(page.ask("$('tip').hidden") == false);
  const std::string tip = page.text_of("#tip");
  const Varied& varied = page.results.points[point].varied;
  for (const std::string& word :
       {fmt::format("point {}", point), std::string("tensor"), varied[0].second.dump(),
        std::string("batching/kind"), varied[1].second.get<std::string>(), std::string("rate_per_s"),
        fmt::format("{}", varied[2].second.get<double>()), std::string("p99 TTFT (ms)")}) {
    INFO(tip << " lacks " << word);
    CHECK(tip.find(word) != std::string::npos);
  }
  CHECK(page.ask("document.querySelector('tr.hovered').dataset.point") == std::to_string(point));
  page.browser.hover(2, 2);
  CHECK(page.ask("$('tip').hidden") == true);

  page.browser.click(x, y);
  CHECK(page.ask("view.selected") == point);
  CHECK(page.ask("document.querySelector('tr[aria-selected]').dataset.point") == std::to_string(point));
  CHECK(page.text_of("#detail h2") == heading);
  page.ask("[...document.querySelectorAll('[role=tab]')].find(t => t.innerText === 'scenario').click()");
  const Json& scenario = page.results.points[point].summary["scenario"];
  CHECK(Json::parse(page.text_of("#detail pre.json")) == scenario);  // in its order
  CHECK(page.ask("[...document.querySelectorAll('#detail mark')].map(m => m.innerText.trim())") ==
        Json({"\"tensor\": " + varied[0].second.dump(), "\"kind\": " + varied[1].second.dump(),
              "\"rate_per_s\": " + scenario["workload"]["arrivals"]["rate_per_s"].dump()}));
  const bool last = point + 1 == page.results.points.size();
  page.browser.press(last ? "ArrowUp" : "ArrowDown");
  CHECK(page.text_of("#detail h2") == fmt::format("Point {}", last ? point - 1 : point + 1));
  page.browser.press("Escape");
  CHECK(page.ask("$('detail').hidden") == true);
  CHECK(page.browser.complaints() == std::vector<std::string>{});
}

TEST_CASE("report page: a click on a row selects its point in the charts, a failed one tells why") {
  NEEDS_CHROMIUM
  OpenPage page(sample_sweep({.fail_each = 13}));
  page.browser.click("tr[data-point='3'] td");
  CHECK(page.ask("figures.map(f => { const d = f.chart.data.datasets[1]; return "
                 "d.data[d.pointRadius.indexOf(9)].i; })") == Json({3, 3}));
  page.browser.click("tr[data-point='12'] td");
  CHECK(page.text_of("#detail .error") == page.results.points[12].error);
  const std::string address = page.ask(
      "new Promise(done => { const look = () => location.hash.includes('selected%22%3A12') ? "
      "done(location.hash) "
      ": setTimeout(look, 20); look(); })");
  page.browser.open(page.file(), address);  // it keeps what one looks at
  CHECK(page.text_of("#detail h2") == "Point 12");
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
  for (const auto& [x, y] : pairs) {
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

TEST_CASE("report page: keys may have any name and vary over anything that JSON has") {
  NEEDS_CHROMIUM
  ResultSet results = sample_sweep({.rates = 1});
  const std::string odd = "/a~1b/__proto__/<i>~0";
  const Json values = {nullptr,         true,           "8",   8,     "",    "<b>&\"", {1, {2}},
                       {{"kind", "x"}}, Json::object(), 1e300, -1e-9, "auto"};
  results.varied.push_back(odd);
  for (std::size_t i = 0; i < results.points.size(); ++i)
    if (i > 0) {  // the first has no such key
      results.points[i].varied.emplace_back(odd, values[i]);
      results.points[i].summary["scenario"][Json::json_pointer(odd)] = values[i];
    }
  OpenPage page(results);
  CHECK(page.ask("varied.at(-1).label") == "<i>~");
  CHECK(page.ask("varied.at(-1).values.slice(1)") == Json(values.begin() + 1, values.end()));
  CHECK(page.ask("JSON.stringify(points.map((_, i) => summaryOf(i).scenario))")
            .get<std::string>()
            .find("\"auto\"") != std::string::npos);
  for (const char* control : {"x", "y", "colour", "lines"}) page.choose(0, control, odd);
  CHECK(page.shown(0).size() == 11);
  for (std::size_t i = 0; i < results.points.size(); ++i) {
    page.ask("tab = 'scenario'; change('selected', {selected: " + std::to_string(i) + "})");
    CHECK(Json::parse(page.text_of("#detail pre.json")) == results.points[i].summary["scenario"]);
  }
  CHECK(page.browser.complaints() == std::vector<std::string>{});
}

TEST_CASE("report page: a sweep whose points all failed, and one of no points, still open") {
  NEEDS_CHROMIUM
  OpenPage failed(sample_sweep({.rates = 1, .fail_each = 1}));
  CHECK(failed.rows().size() == 12);
  CHECK(failed.browser.complaints() == std::vector<std::string>{});
  OpenPage none(ResultSet{"", "nothing", true, {}, {}});
  CHECK(none.rows().empty());
  CHECK(none.browser.complaints() == std::vector<std::string>{});
}

TEST_CASE("report page: a run's has its metrics, its scenario and its latencies") {
  NEEDS_CHROMIUM
  const ScratchDirectory scratch;
  run_quickstart(scratch / "run");
  OpenPage page(read_results(scratch / "run"));
  const std::string cards = page.text_of("#cards");
  CHECK(cards.find("p99 TTFT (ms)") != std::string::npos);
  CHECK(page.ask("figures.length") == 5);
  const Json ttft = page.ask("figures[0].lines.find(l => l.name === 'TTFT').points.find(p => p.y === 0.5).x");
  CHECK(ttft.get<double>() == Approx(page.metric(0, "median_ttft_ms")).epsilon(0.01));
  page.browser.click("#theme");
  CHECK(page.browser.complaints() == std::vector<std::string>{});
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

TEST_CASE("report page: shows what weir sweep wrote") {
  NEEDS_CHROMIUM
  const ScratchDirectory scratch;
  const Json sweep = {{"scenario", shipped("quickstart.json")},
                      {"vary",
                       {{"/serving/replicas/0/batching/max_batch_requests", {8, 64}},
                        {"/workload/requests/count", {20, 40}}}}};
  std::ofstream(scratch / "sweep.json") << sweep;
  REQUIRE(run_weir({"sweep", scratch / "sweep.json", "--out", scratch / "out"}).code == 0);
  OpenPage page(read_results(scratch / "out"));
  CHECK(page.rows() == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(page.ask("varied.map(f => f.label)") == Json({"max_batch_requests", "requests/count"}));
  CHECK(page.ask("byId.get('completed').values") == Json({20, 40, 20, 40}));
  CHECK(page.browser.complaints() == std::vector<std::string>{});
}

TEST_CASE("report page: the time and size of a thousand points", "[benchmark]") {
  NEEDS_CHROMIUM
  OpenPage page(sample_sweep({.rates = 84}));
  page.browser.open(page.file());  // again: the first time the browser itself starts
  const Json ms =
      page.ask("new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))");
  WARN("1008 points: " << ms.get<double>() << " ms to open and draw, "
                       << std::filesystem::file_size(page.file()) / 1000 << " kB");
  CHECK(page.rows().size() == 1008);
  CHECK(std::filesystem::file_size(page.file()) < 2'000'000);
}
