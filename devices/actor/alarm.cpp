#include "devices/actor/alarm.h"

#include <cstdint>
#include <queue>
#include <simgrid/kernel/Timer.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "devices/actor/clock.h"

namespace weir {
namespace {

// SimGrid's own timers of one instant come in the order of their addresses in memory, which is another one in
// another run. Here calls come as they were set, and then alarms as they were made: so neither depends on how
// often an alarm was set on the way, as runs of steps need it. SimGrid is asked for one timer at a time, but
// where a sooner one is set beside it. One a process, as the engine is.
class Timeline {
 public:
  void call(Seconds time, std::function<void()> what) {
    std::size_t slot = whats_.size();
    if (free_.empty()) {
      whats_.push_back(std::move(what));
    } else {
      slot = free_.back();
      free_.pop_back();
      whats_[slot] = std::move(what);
    }
    calls_.push({time, called_++, slot});
    ask_for(time);
  }

  bool calls_due() const { return !calls_.empty(); }

  void ring(Seconds time, std::int64_t number, std::int64_t set, Alarm& alarm) {
    alarms_.push({time, number, set, &alarm});
    ask_for(time);
  }

 private:
  struct Call {
    Seconds time;
    std::int64_t order;
    std::size_t slot;
    bool operator>(const Call& other) const {
      return std::tie(time, order) > std::tie(other.time, other.order);
    }
  };
  struct Ring {
    Seconds time;
    std::int64_t number, set;
    Alarm* alarm;
    bool operator>(const Ring& other) const {
      return std::tie(time, number, set) > std::tie(other.time, other.number, other.set);
    }
  };

  void ask_for(Seconds time) {
    if (!asked_.empty() && asked_.back() <= time) return;
    asked_.push_back(time);
    simgrid::kernel::timer::Timer::set(time.value(), [this] { come(); });
  }

  void come() {
    asked_.pop_back();
    while (!calls_.empty() && calls_.top().time <= now()) {
      const std::size_t slot = calls_.top().slot;
      calls_.pop();
      const std::function<void()> what = std::move(whats_[slot]);
      free_.push_back(slot);
      what();
    }
    while (!alarms_.empty() && (alarms_.top().time <= now() || !alarms_.top().alarm->is(alarms_.top().set))) {
      const Ring due = alarms_.top();
      alarms_.pop();
      if (due.alarm->is(due.set)) due.alarm->ring();
    }
    if (!calls_.empty()) ask_for(calls_.top().time);
    if (!alarms_.empty()) ask_for(alarms_.top().time);
  }

  std::priority_queue<Call, std::vector<Call>, std::greater<>> calls_;
  std::vector<std::function<void()>> whats_;
  std::vector<std::size_t> free_;  // of these
  std::int64_t called_ = 0;
  std::priority_queue<Ring, std::vector<Ring>, std::greater<>> alarms_;
  std::vector<Seconds> asked_;  // of SimGrid: the soonest is last
};

Timeline& timeline() {
  static Timeline all;
  return all;
}

std::int64_t made = 0;

}  // namespace

void call_at(Seconds time, std::function<void()> what) {
  if (time <= now()) return what();
  timeline().call(time, std::move(what));
}

bool calls_due() {
  return timeline().calls_due();
}

Alarm::Alarm() : number_(made++) {}

void Alarm::set(Seconds time) {
  waits_ = true;
  timeline().ring(time, number_, ++set_, *this);
}

void Alarm::ring() {
  waits_ = false;
  rings_->release();
}

void Alarm::wait() {
  rings_->acquire();
}

bool Alarm::ring_at(Seconds time) {
  if (!waits_) return false;
  set(time);
  return true;
}

}  // namespace weir
