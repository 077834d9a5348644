#pragma once
// A bar on stderr for runs long enough to wonder about: only on a terminal, only after a second, gone when
// done.
#include <chrono>

#include "sim/engine/simulation.h"

namespace weir {

class ProgressBar {
 public:
  explicit ProgressBar(bool wanted);
  ~ProgressBar();
  void show(const Progress& progress);

 private:
  bool enabled_, drawn_ = false;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace weir
