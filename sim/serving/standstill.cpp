// A run that would never end: requests give way to each other for ever, as KV caches wait for each other.
#include <fmt/format.h>

#include <stdexcept>

#include "devices/actor/alarm.h"
#include "devices/actor/clock.h"
#include "sim/serving/simulation_run.h"

namespace weir {
namespace {

// More than a batch ever preempts before a step of it is computed.
constexpr std::int64_t most_preemptions = 10'000;

}  // namespace

// Nothing but swaps moves, nobody computes and nobody is to come: what has happened so often happens again.
void Simulation::end_standstill() {
  const RunResult& so_far = recorder_.result();
  if (so_far.iterations != computed_then_) {
    computed_then_ = so_far.iterations;
    preempted_then_ = so_far.preemptions;
    return;
  }
  if (so_far.preemptions - preempted_then_ < most_preemptions || end_.at || calls_due()) return;
  if (couriers_.under_way() > swaps_ || stalled_ > 0) return;
  if (std::ranges::any_of(servers_, [](const auto& server) { return server->computes(); })) return;
  std::string states;
  for (const Replica* rank : all_ranks()) states += "; " + rank->state();
  throw std::runtime_error(fmt::format(
      "from {:.6f} s on requests preempt each other for ever, and no step is computed, as KV caches wait for "
      "each other: larger ones, `handover: whole` or fewer requests at once may help{}",
      now().value(), states));
}

}  // namespace weir
