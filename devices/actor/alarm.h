#pragma once
// Rings at a time, or sooner, by a timer of SimGrid's kernel, which costs a third of an actor's sleep.
#include <cstdint>
#include <functional>
#include <simgrid/s4u/Semaphore.hpp>

#include "devices/actor/working_set.h"
#include "sim/core/units.h"

namespace weir {

// Calls it then, from SimGrid's kernel; at once if that is now. Calls of one instant come in the order in
// which they were set. No exception may leave it. `uses`, which it will use, is null or lives until then.
void call_at(Seconds time, std::function<void()> what, const WorkingSet* uses = nullptr);

bool calls_due();  // ever

// Alarms of one instant ring after its calls, and in the order in which they were made.
class Alarm {
 public:
  Alarm();
  Alarm(const Alarm&) = delete;
  ~Alarm();
  static bool outgrow_cache();  // there are so many that it pays to know what each will use
  // SimGrid's kernel calls `rings` then, which no exception may leave. Null: an actor waits for it.
  void set(Seconds time, const std::function<void()>* rings = nullptr);
  void wait();                          // blocks the actor that calls; after set()
  bool ring_at(Seconds time);           // instead; false: it is not set, or has rung
  WorkingSet& uses() { return uses_; }  // as it rings

  // For its timeline: whether it waits for what was set then, and that the time has come.
  bool is(std::int64_t set) const { return waits_ && set == set_; }
  void ring();

 private:
  simgrid::s4u::SemaphorePtr wakes_ = simgrid::s4u::Semaphore::create(0);
  const std::function<void()>* rings_ = nullptr;
  std::int64_t number_, set_ = 0;
  bool waits_ = false;
  WorkingSet uses_;
};

}  // namespace weir
