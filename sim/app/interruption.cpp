#include "sim/app/interruption.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "sim/app/command_line.h"

namespace weir {
namespace {

sigset_t watched() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

Interruption::Interruption() {
  const sigset_t signals = watched();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A fork while the thread starts would copy locks that it holds (of a sanitizer's allocator, say), for
  // ever.
  watcher_ = std::thread([this, signals] {
    started_.count_down();
    for (int signal = 0; sigwait(&signals, &signal) == 0 && !finished_;)
      if (signal_ = signal; interrupted_.exchange(true)) ::_exit(exit_code());
  });
  started_.wait();
}

Interruption::~Interruption() {
  finished_ = true;
  pthread_kill(watcher_.native_handle(), SIGTERM);
  watcher_.join();
  interrupted_ = false;
  const sigset_t signals = watched();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace weir
