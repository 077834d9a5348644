#pragma once
// Costs of one iteration to one rank of one pipeline stage, and of runs of iterations. Sums only; filled in
// by step_model.h and played_step.h.
#include <array>

#include "models/llm/operator_graph.h"
#include "models/machine/kernel_cost.h"
#include "models/memory/cache.h"

namespace weir {

struct StepCost {
  static constexpr std::size_t most_units = 8;

  Seconds time{};  // the four below, added up
  // The kernels' time by what bounds them; scaled to what the step takes where kernels overlap.
  Seconds compute_bound{}, memory_bound{}, link_bound{}, host_bound{};
  Flops flops{};  // of one rank, like what is moved
  Moved moved{};
  PrefetchBytes prefetch{};
  Joules energy{};                         // of one rank, above idle and PowerSpec::active
  Joules clocked{};                        // part of it that falls with a GPU's clocks
  std::array<Seconds, most_units> busy{};  // by unit of the device; the mean of its members

  StepCost& operator+=(const StepCost& other);
  void wait_for_host(Seconds time);
  // The same work in `factor` times the time.
  StepCost& stretch(double factor);
  friend StepCost operator*(double k, const StepCost& cost);
};

// The kernel runs so many times a step.
StepCost attributed(const KernelCost& kernel, const Operator& op, double times);

// The shape of the costs of steps between two with the same causes: a line; a curve without kinks, where
// bandwidth was shared; or anything, where causes do not tell all, as of prefetches.
enum class Between { line, curve, anything };

// A step as the timeline played it; `causes` is StepResult's.
struct PlayedCost {
  StepCost cost;
  std::uint64_t causes = 0;
  Between between = Between::anything;
};

// Steps in which every request decodes one token: step i costs first + i * slope.
struct StepRun {
  StepCost first{}, slope{};
  std::int64_t steps = 0;

  Seconds time(std::int64_t steps) const;  // of the first so many
  StepCost total(std::int64_t steps) const;
};

}  // namespace weir
