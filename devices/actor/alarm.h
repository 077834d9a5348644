#pragma once
// Wakes an actor at a time, or sooner: a timer of SimGrid's kernel, which costs a third of a sleep.
#include <simgrid/forward.h>

#include <functional>
#include <simgrid/s4u/Semaphore.hpp>

#include "sim/core/units.h"

namespace simgrid::kernel::timer {
class Timer;
}

namespace weir {

// Calls it then, from SimGrid's kernel; at once if that is now. No exception may leave it.
void call_at(Seconds time, std::function<void()> what);

class Alarm {
 public:
  void set(Seconds time);
  void wait();                 // blocks the actor that calls; after set()
  bool ring_at(Seconds time);  // instead; false: it is not set, or has rung

 private:
  simgrid::s4u::SemaphorePtr rings_ = simgrid::s4u::Semaphore::create(0);
  simgrid::kernel::timer::Timer* timer_ = nullptr;  // null: nobody waits
};

}  // namespace weir
