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
  watcher_ = std::thread([this, signals] {
    for (int signal = 0; sigwait(&signals, &signal) == 0 && !finished_;)
      if (interrupted_.exchange(true)) ::_exit(exit_interrupted);
  });
}

Interruption::~Interruption() {
  finished_ = true;
  pthread_kill(watcher_.native_handle(), SIGTERM);
  watcher_.join();
  const sigset_t signals = watched();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace weir
