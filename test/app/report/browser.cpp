#include "test/app/report/browser.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <stdexcept>

namespace weir::test {
namespace fs = std::filesystem;
namespace {

std::string decoded(const std::string& base64) {
  static const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char c : base64) {
    const std::size_t digit = digits.find(c);
    if (digit == std::string::npos) break;  // the padding
    bits = bits << 6 | static_cast<unsigned>(digit);
    if ((count += 6) >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 0xff);
  }
  return bytes;
}

// The code that the browser itself goes by, for keys that it answers to without a script; 0 of others.
int code_of(const std::string& key) {
  const std::map<std::string, int> codes = {{"Tab", 9}, {"ArrowLeft", 37}, {"ArrowRight", 39}};
  const auto known = codes.find(key);
  return known == codes.end() ? 0 : known->second;
}

}  // namespace

Browser::Browser(const Screen& screen) {
  context_ = chromium_.call("", "Target.createBrowserContext")["browserContextId"];
  const Json target = chromium_.call("", "Target.createTarget",
                                     {{"url", "about:blank"},
                                      {"browserContextId", context_},
                                      {"width", screen.width},
                                      {"height", screen.height}});
  const Json attached =
      chromium_.call("", "Target.attachToTarget", {{"targetId", target["targetId"]}, {"flatten", true}});
  session_ = attached["sessionId"];
  for (const char* domain : {"Page", "Runtime", "Log", "Network"}) call(std::string(domain) + ".enable");
  call("Emulation.setDeviceMetricsOverride",
       {{"width", screen.width}, {"height", screen.height}, {"deviceScaleFactor", 1}, {"mobile", false}});
  const Json scheme = {{"name", "prefers-color-scheme"}, {"value", screen.dark ? "dark" : "light"}};
  call("Emulation.setEmulatedMedia", {{"features", Json::array({scheme})}});
}

Browser::~Browser() {
  try {
    chromium_.call("", "Target.disposeBrowserContext", {{"browserContextId", context_}});
  } catch (const std::exception&) {  // the test that found it gone has said so
  }
  chromium_.forget(session_);
}

Json Browser::call(const std::string& method, Json parameters) {
  Json result = chromium_.call(session_, method, std::move(parameters));
  while (chromium_.has_event(session_)) note(chromium_.next_event(session_));
  return result;
}

void Browser::note(const Json& event) {
  const std::string method = event["method"];
  const Json& what = event["params"];
  events_.push_back(method);
  if (method == "Runtime.exceptionThrown") complaints_.push_back(what.dump());
  if (method == "Runtime.consoleAPICalled" && (what["type"] == "error" || what["type"] == "warning"))
    complaints_.push_back(what["args"].dump());
  if (method == "Log.entryAdded" &&
      (what["entry"]["level"] == "error" || what["entry"]["level"] == "warning"))
    complaints_.push_back(what["entry"].dump());
  if (method == "Network.requestWillBeSent") {
    const std::string url = what["request"]["url"];
    const bool own =
        page_.starts_with("http:") ? url.starts_with(page_) : url.substr(0, url.find('#')) == page_;
    if (!own && !url.starts_with("data:")) complaints_.push_back("asked for " + url);
  }
}

void Browser::wait_for(const std::string& event) {
  while (std::find(events_.begin(), events_.end(), event) == events_.end())
    note(chromium_.next_event(session_));
}

void Browser::open(const fs::path& page, const std::string& fragment) {
  open_address("file://" + fs::absolute(page).string(), fragment);
}

void Browser::open_address(const std::string& address, const std::string& fragment) {
  page_ = address;
  events_.clear();
  call("Page.navigate", {{"url", "about:blank"}});  // a new fragment alone would not load the page again
  wait_for("Page.loadEventFired");
  events_.clear();
  complaints_.clear();
  call("Page.navigate", {{"url", page_ + fragment}});
  wait_for("Page.loadEventFired");
  wait_for_frame();  // a chart takes the width of its card after its first frame
}

Json Browser::evaluate(const std::string& expression) {
  const Json answer =
      call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
  if (answer.contains("exceptionDetails"))
    throw std::runtime_error(expression + ": " + answer["exceptionDetails"].dump());
  return answer["result"].value("value", Json());
}

void Browser::wait_for_frame() {  // Chart.js takes events then
  evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
}

void Browser::mouse(const std::string& what, double x, double y, int clicks) {
  call(
      "Input.dispatchMouseEvent",
      {{"type", what}, {"x", x}, {"y", y}, {"button", clicks > 0 ? "left" : "none"}, {"clickCount", clicks}});
}

void Browser::hover(double x, double y) {
  mouse("mouseMoved", x, y, 0);
  wait_for_frame();
}

void Browser::click(double x, double y) {
  hover(x, y);
  mouse("mousePressed", x, y, 1);
  mouse("mouseReleased", x, y, 1);
  wait_for_frame();
}

void Browser::click(const std::string& selector) {
  const Json box = evaluate("(() => { const e = document.querySelector(" + Json(selector).dump() +
                            "); e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect(); "
                            "return [b.x + b.width / 2, b.y + b.height / "
                            "2]; })()");
  click(box[0].get<double>(), box[1].get<double>());
}

void Browser::drag(double from_x, double from_y, double to_x, double to_y) {
  hover(from_x, from_y);
  mouse("mousePressed", from_x, from_y, 1);
  mouse("mouseMoved", to_x, to_y, 1);
  mouse("mouseReleased", to_x, to_y, 1);
  wait_for_frame();
}

void Browser::type(const std::string& text) {
  call("Input.insertText", {{"text", text}});
}

void Browser::press(const std::string& key) {
  for (const char* what : {"keyDown", "keyUp"})
    call("Input.dispatchKeyEvent",
         {{"type", what}, {"key", key}, {"code", key}, {"windowsVirtualKeyCode", code_of(key)}});
}

void Browser::print_as_pdf(const fs::path& file) {
  const Json answer = call("Page.printToPDF", {{"landscape", true}, {"printBackground", true}});
  std::ofstream(file, std::ios::binary) << decoded(answer["data"]);
}

double Browser::heap_mib() {
  call("HeapProfiler.collectGarbage");
  return call("Runtime.getHeapUsage")["usedSize"].get<double>() / (1 << 20);
}

void Browser::take_screenshot(const fs::path& file) {
  std::ofstream(file, std::ios::binary) << decoded(call("Page.captureScreenshot")["data"]);
}

}  // namespace weir::test
