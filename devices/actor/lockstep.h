#pragma once
// The devices that take the steps of a pipeline stage together. Each is a SimGrid actor on a host of its own:
// it waits for its share of a step and executes it there, where a second of work takes a second at the
// device's own speed; the step ends with the last. The first device's actor drives the others. A run of steps
// is one execution a device, and can be ended early.
#include <simgrid/forward.h>

#include <memory>
#include <simgrid/s4u/Exec.hpp>
#include <simgrid/s4u/Semaphore.hpp>
#include <string>
#include <vector>

#include "devices/actor/alarm.h"
#include "models/machine/availability.h"

namespace weir {

class Lockstep {
 public:
  struct Device {
    simgrid::s4u::Host* host;
    const Availability* availability;  // null: it is always there, at its own speed
    bool beside = false;               // a host's memory, which has a share of its own
  };
  struct Share {
    Seconds each, beside;  // of a device, and of a host's memory
  };

  // `folded`: devices that are alike are one actor, which sleeps as long as they would execute: no other work
  // shares their hosts.
  Lockstep(std::string name, std::vector<Device> devices, bool folded);
  void start();  // the actors of all devices but the first

  // Called by the actor of the first device, on its host.
  void execute(Share share);
  // Steps in which no speed changes. False: end_at() ended them early.
  bool run(Share share);
  // The same in three. SimGrid's kernel calls `ends` instead of waking an actor that waits, where it is
  // there.
  void begin_run(Share share, const std::function<void()>* ends);
  void wait_for_run();
  bool end_run();
  void end_at(Seconds time);
  WorkingSet& uses() { return alarm_.uses(); }  // as a run ends, for the owner to say
  void add_used(WorkingSet& uses) const;        // its own part

  double pace() const;          // now, of the slowest device; 1 where none has another speed
  Seconds next_change() const;  // after now, of any speed
  bool may_change() const { return may_change_; }
  // A host's memory that falls behind the devices' pace may be waited for in each step.
  bool waits_for_memory() const;

 private:
  struct Player {  // an actor
    Device device;
    bool executes;
    simgrid::s4u::SemaphorePtr call;
    Seconds share{};
    bool called = false;  // there is a share for it
    simgrid::s4u::ExecPtr exec, cancelled;
  };
  void serve(Player& player);
  void begin(Share share, bool first_executes);
  void cancel();
  static void start_execution(Player& player);

  std::string name_;
  std::vector<std::unique_ptr<Player>> players_;
  bool may_change_ = false;
  Alarm alarm_;  // of the first, as its share ends
  bool ended_early_ = false;
  bool awaited_ = false;  // the others tell when they have ended; else all know by the clock
  std::size_t busy_ = 0;  // of them, where they do
  simgrid::s4u::SemaphorePtr all_ended_;
};

}  // namespace weir
