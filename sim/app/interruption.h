#pragma once
// Ctrl-C and SIGTERM as a flag that long work polls. A thread of its own takes the signals (sigwait), because
// a handler would be replaced by the one that SimGrid's Engine installs for SIGINT. A second signal ends the
// process at once. Construct it before any other thread; children must be started with the signals unblocked
// (see gnuplot.cpp).
#include <atomic>
#include <latch>
#include <thread>

namespace weir {

class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  const std::atomic<bool>& flag() const { return interrupted_; }
  explicit operator bool() const { return interrupted_; }

 private:
  std::atomic<bool> interrupted_ = false, finished_ = false;
  std::latch started_{1};
  std::thread watcher_;
};

}  // namespace weir
