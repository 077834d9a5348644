#pragma once
// A bar on stderr for runs long enough to wonder about: only on a terminal, only after a second, gone when
// done.
#include <chrono>
#include <string>

namespace weir {

class ProgressBar {
 public:
  explicit ProgressBar(bool wanted);
  ~ProgressBar();
  void show(double share, const std::string& what);  // share of the work that is done; the time left follows

 private:
  bool enabled_, drawn_ = false;
  std::chrono::steady_clock::time_point started_;
};

// On a terminal on stderr: in place of the line before, and no longer than one.
void show_line(const std::string& text);

}  // namespace weir
