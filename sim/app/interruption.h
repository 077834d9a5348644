#pragma once
// Ctrl-C and SIGTERM as a flag that long work polls. A thread of its own takes the signals (sigwait), because
// a handler would be replaced by the one that SimGrid's Engine installs for SIGINT. A second signal ends the
// process at once. One at a time, constructed before any other thread and before anything that must be tidied
// up (a lock, a folder of unfinished results). Children inherit the signals blocked.
#include <signal.h>

#include <atomic>
#include <latch>
#include <thread>

namespace weir {

// Ends a command from wherever it is; run_command_line() says that nothing was written. No std::exception, so
// that nobody takes it for a failure of what was interrupted.
struct Interrupted {};

class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  const std::atomic<bool>& flag() const { return interrupted_; }
  explicit operator bool() const { return interrupted_; }
  // 128 and the signal that came last.
  static int exit_code() { return 128 + signal_; }
  // Throws Interrupted if a signal came to the one that lives; nothing while none does.
  static void check() {
    if (interrupted_) throw Interrupted();
  }

 private:
  static inline std::atomic<bool> interrupted_ = false;
  static inline std::atomic<int> signal_ = SIGINT;
  std::atomic<bool> finished_ = false;
  std::latch started_{1};
  std::thread watcher_;
};

}  // namespace weir
