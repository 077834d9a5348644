#include "sim/serving/platform/engine.h"

#include <xbt/asserts.h>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <simgrid/s4u.hpp>

#include "sim/core/memory/out_of_memory.h"

namespace weir {
namespace sg4 = simgrid::s4u;
namespace {

Activities counted;

// SimGrid aborts where it cannot allocate: the largest that it asks for is an actor's stack, and that it was
// this is told by asking for as much again.
void end_aborted(int) {
  constexpr std::size_t largest = 32 << 20;
  void* volatile again = std::malloc(largest);
  if (!again) end_out_of_memory();
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

}  // namespace

std::unique_ptr<sg4::Engine> make_engine() {
  // CM02 without cross-traffic: flows share links max-min and nothing else; LV08's TCP corrections make a
  // ring all-reduce of 8 three times as long as it is (measured, docs/decisions.md). TCP-gamma is a window,
  // here without end; 0 would be none, and then flows keep to no rate.
  char name[] = "weir", quiet[] = "--log=root.thresh:warning root.fmt:weir:%e%m%n";
#ifdef __SANITIZE_ADDRESS__
  char contexts[] = "--cfg=contexts/factory:thread";  // AddressSanitizer cannot follow SimGrid's own stacks
  char* argv[] = {name, quiet, contexts, nullptr};
#else
  char* argv[] = {name, quiet, nullptr};
#endif
  int argc = std::ssize(argv) - 1;
  struct sigaction ours;  // SimGrid takes SIGINT for itself
  sigaction(SIGINT, nullptr, &ours);
  auto engine = std::make_unique<sg4::Engine>(&argc, argv);
  sigaction(SIGINT, &ours, nullptr);
  xbt_log_no_loc = 1;                   // no backtrace where it fails
  std::set_terminate(end_by_uncaught);  // nor where what is thrown is not caught
  std::signal(SIGABRT, end_aborted);
  for (const char* setting : {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:1e30",
                              "contexts/guard-size:0", "contexts/stack-size:128"})
    sg4::Engine::set_config(setting);
  counted = {};
  sg4::Actor::on_creation_cb([](sg4::Actor&) { ++counted.actors; });
  sg4::Exec::on_start_cb([](const sg4::Exec&) { ++counted.executions; });
  return engine;
}

Activities activities() {
  return counted;
}

void count_flow() {
  ++counted.flows;
}

}  // namespace weir
