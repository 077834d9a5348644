// The page in a real browser. Each case asks the page what it shows, and the results what it should.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "test/app/report/open_page.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;

namespace {

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
  const std::vector<std::int64_t> order = page.rows();
  const auto row = std::find(order.begin(), order.end(), static_cast<std::int64_t>(point));
  const bool last = row + 1 == order.end();
  page.browser.press(last ? "ArrowUp" : "ArrowDown");
  CHECK(page.text_of("#detail h2") == fmt::format("Point {}", last ? row[-1] : row[1]));
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

TEST_CASE("report page: of an interrupted sweep it tells how many points are missing") {
  NEEDS_CHROMIUM
  ResultSet results = sample_sweep({.rates = 1});
  results.missing = 5;
  OpenPage page(results);
  CHECK(page.text_of("#about").find("5 have no result yet") != std::string::npos);
  results.missing = 0;
  CHECK(OpenPage(results).text_of("#about").find("no result yet") == std::string::npos);
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
  std::vector<std::int64_t> order = {0, 1, 2, 3};  // the goodput of each, as the quickstart has an SLO
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const auto goodput = [&](std::int64_t i) {
      return metric_of(page.results.points[static_cast<std::size_t>(i)].summary, "request_goodput");
    };
    return goodput(a) > goodput(b);
  });
  CHECK(page.rows() == order);
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
