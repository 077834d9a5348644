#pragma once
// The page of some results, open in a real browser, and what it shows.
#include <fstream>

#include "sim/app/report/page.h"
#include "sim/app/results/metric.h"
#include "test/app/report/browser.h"
#include "test/app/report/sample_sweep.h"

namespace weir::test {

#define NEEDS_CHROMIUM                                                    \
  if (!Chromium::installed()) {                                           \
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

}  // namespace weir::test
