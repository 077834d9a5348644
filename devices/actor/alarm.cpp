#include "devices/actor/alarm.h"

#include <simgrid/kernel/Timer.hpp>

#include <utility>

#include "devices/actor/clock.h"

namespace weir {
using simgrid::kernel::timer::Timer;

void call_at(Seconds time, std::function<void()> what) {
  if (time <= now()) return what();
  Timer::set(time.value(), std::move(what));
}

void Alarm::set(Seconds time) {
  timer_ = Timer::set(time.value(), [this] {
    timer_ = nullptr;
    rings_->release();
  });
}

void Alarm::wait() {
  rings_->acquire();
}

bool Alarm::ring_at(Seconds time) {
  if (timer_ == nullptr) return false;
  timer_->remove();
  set(time);
  return true;
}

}  // namespace weir
