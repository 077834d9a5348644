#pragma once
// The page of weir explore in a real browser, and what it shows.
#include "test/app/explore/explore_server.h"
#include "test/app/report/open_page.h"

namespace weir::test {

class OpenExplorer {
 public:
  explicit OpenExplorer(const std::string& scenario, const Screen& screen = {})
      : weir(scenario), browser(screen) {
    browser.open_address(weir.address());
    settle();
  }

  Json ask(const std::string& script) { return browser.evaluate(script); }
  // Until all that was asked for is drawn.
  void settle() {
    ask("new Promise(done => { const look = () => !asking && !pending ? requestAnimationFrame(done) : "
        "setTimeout(look, 2); look(); })");
  }
  // The control of a pointer: of a slider its number, which takes any value.
  std::string input(const std::string& pointer, const std::string& kind) {
    return "document.querySelector(" + Json("[data-pointer=\"" + pointer + "\"] " + kind).dump() + ")";
  }
  void choose(const std::string& pointer, const std::string& value) { set(input(pointer, "select"), value); }
  void enter(const std::string& pointer, const std::string& value) {
    set(input(pointer, "input[type=number]"), value);
  }
  std::string problem_at(const std::string& pointer) {
    return ask("(p => p.hidden ? '' : p.innerText)(" + input(pointer, ".problem") + ")");
  }
  double shown(const std::string& metric) { return ask("answers.shown.summary." + metric); }
  double last_ms() { return ask("answers.lastMs"); }
  Json line(const std::string& chart, int which = 0) {
    return ask("charts." + chart + ".lines[" + std::to_string(which) + "].points.map(p => [p.x, p.y])");
  }

  ExploreProcess weir;
  Browser browser;

 private:
  void set(const std::string& control, const std::string& value) {
    ask("(c => { c.value = " + Json(value).dump() + "; if (c.value !== " + Json(value).dump() +
        ") throw Error('no such choice'); c.dispatchEvent(new Event('change')); })(" + control + ")");
    settle();
  }
};

}  // namespace weir::test
