#pragma once
// A browser as a user has it: a tab of Chromium that shares nothing with another one, cookies and storage
// included.
#include <filesystem>
#include <string>
#include <vector>

#include "test/app/report/chromium.h"

namespace weir::test {

struct Screen {
  int width = 1280, height = 800;
  bool dark = false;  // prefers-color-scheme
};

class Browser {
 public:
  explicit Browser(const Screen& screen = {});
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  void open(const std::filesystem::path& page, const std::string& fragment = "");  // as file://, until loaded
  // The same of http://; what begins as this does is the page's own.
  void open_address(const std::string& address, const std::string& fragment = "");
  Json evaluate(const std::string& expression);  // JavaScript in the page
  void hover(double x, double y);
  void click(double x, double y);
  void click(const std::string& selector);  // the middle of the first such element
  void drag(double from_x, double from_y, double to_x, double to_y);
  void type(const std::string& text);
  void press(const std::string& key);  // "Escape", "ArrowDown"
  void print_as_pdf(const std::filesystem::path& file);
  double heap_mib();  // of the page's scripts, without what they have dropped
  void take_screenshot(const std::filesystem::path& file);

  // Console errors and warnings, uncaught exceptions, and requests for anything but the page, so far.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  Json call(const std::string& method, Json parameters = Json::object());
  void wait_for(const std::string& event);
  void wait_for_frame();
  void note(const Json& event);
  void mouse(const std::string& what, double x, double y, int clicks);

  Chromium& chromium_ = Chromium::running();
  std::string context_, session_, page_;
  std::vector<std::string> complaints_, events_;
};

}  // namespace weir::test
