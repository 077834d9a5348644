#pragma once
// Wakes an actor at a time, or sooner: by a timer of SimGrid's kernel, which costs a third of a sleep.
#include <cstdint>
#include <functional>
#include <simgrid/s4u/Semaphore.hpp>

#include "sim/core/units.h"

namespace weir {

// Calls it then, from SimGrid's kernel; at once if that is now. Calls of one instant come in the order in
// which they were set. No exception may leave it.
void call_at(Seconds time, std::function<void()> what);

bool calls_due();  // ever

// Alarms of one instant ring after its calls, and in the order in which they were made.
class Alarm {
 public:
  Alarm();
  Alarm(const Alarm&) = delete;
  void set(Seconds time);
  void wait();                 // blocks the actor that calls; after set()
  bool ring_at(Seconds time);  // instead; false: it is not set, or has rung

  // For who keeps the time: whether it waits for what was set then, and that it has come.
  bool is(std::int64_t set) const { return waits_ && set == set_; }
  void ring();

 private:
  simgrid::s4u::SemaphorePtr rings_ = simgrid::s4u::Semaphore::create(0);
  std::int64_t number_, set_ = 0;
  bool waits_ = false;
};

}  // namespace weir
