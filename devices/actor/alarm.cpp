#include "devices/actor/alarm.h"

#include <algorithm>
#include <cstdint>
#include <queue>
#include <simgrid/kernel/Timer.hpp>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "devices/actor/clock.h"

namespace weir {
namespace {

std::int64_t made = 0, alive = 0;

// SimGrid's own timers of one instant come in the order of their addresses in memory, which is another one in
// another run. Here calls come as they were set, and then alarms as they were made: so neither depends on how
// often an alarm was set on the way, as runs of steps need it. SimGrid is asked for one timer at a time, but
// where a sooner one is set beside it. One a process, as the engine is.
class Timeline {
 public:
  void call(Seconds time, std::function<void()> what, const WorkingSet* uses) {
    std::size_t slot = whats_.size();
    if (free_.empty()) {
      whats_.push_back(std::move(what));
    } else {
      slot = free_.back();
      free_.pop_back();
      whats_[slot] = std::move(what);
    }
    calls_.push({time, called_++, slot, uses});
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
    const WorkingSet* uses;
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
    if (comes_ || (!asked_.empty() && asked_.back() <= time)) return;
    asked_.push_back(time);
    simgrid::kernel::timer::Timer::set(time.value(), [this] { come(); });
  }

  void come() {
    asked_.pop_back();
    comes_ = true;
    while (!calls_.empty() && calls_.top().time <= now()) {
      const std::size_t slot = calls_.top().slot;
      calls_.pop();
      const std::function<void()> what = std::move(whats_[slot]);
      free_.push_back(slot);
      fetch_next();
      what();
    }
    while (!alarms_.empty() && (alarms_.top().time <= now() || !alarms_.top().alarm->is(alarms_.top().set))) {
      const Ring due = alarms_.top();
      alarms_.pop();
      fetch_next();
      if (due.alarm->is(due.set)) due.alarm->ring();
    }
    comes_ = false;
    if (!calls_.empty()) ask_for(calls_.top().time);
    if (!alarms_.empty()) ask_for(alarms_.top().time);
  }

  // The next alarm says what it uses, and so do the two of which one is the next but one.
  void fetch_next() const {
    if (!Alarm::outgrow_cache()) return;
    const std::span<const Ring> heap = alarms_.heap();
    for (std::size_t i = 1; i < std::min<std::size_t>(3, heap.size()); ++i)
      fetch(heap[i].alarm, sizeof(Alarm));
    if (!heap.empty()) heap[0].alarm->uses().fetch();
    if (!calls_.empty() && calls_.top().uses) calls_.top().uses->fetch();
  }

  std::priority_queue<Call, std::vector<Call>, std::greater<>> calls_;
  std::vector<std::function<void()>> whats_;
  std::vector<std::size_t> free_;  // of these
  std::int64_t called_ = 0;
  struct Rings : std::priority_queue<Ring, std::vector<Ring>, std::greater<>> {
    std::span<const Ring> heap() const { return c; }
  };
  Rings alarms_;
  std::vector<Seconds> asked_;  // of SimGrid: the soonest is last
  bool comes_ = false;          // at its end it asks for what was set meanwhile
};

Timeline& timeline() {
  static Timeline all;
  return all;
}

}  // namespace

void call_at(Seconds time, std::function<void()> what, const WorkingSet* uses) {
  if (time <= now()) return what();
  timeline().call(time, std::move(what), uses);
}

bool calls_due() {
  return timeline().calls_due();
}

Alarm::Alarm() : number_(made++) {
  ++alive;
}

Alarm::~Alarm() {
  --alive;
}

// 256 replicas and their SimGrid objects fill some 16 MB.
bool Alarm::outgrow_cache() {
  return alive > 256;
}

void Alarm::set(Seconds time, const std::function<void()>* rings) {
  waits_ = true;
  rings_ = rings;
  timeline().ring(time, number_, ++set_, *this);
}

void Alarm::ring() {
  waits_ = false;
  if (rings_)
    (*rings_)();
  else
    wakes_->release();
}

void Alarm::wait() {
  wakes_->acquire();
}

bool Alarm::ring_at(Seconds time) {
  if (!waits_) return false;
  set(time, rings_);
  return true;
}

}  // namespace weir
