#pragma once
// The cost of one kernel on one unit, alone: the result of every latency model, for the step timeline, the
// usage counters and the energy.
#include <array>
#include <cstdint>
#include <limits>

#include "models/machine/machine.h"

namespace weir {

// Over each resource of the machine, by its index (machine.h).
using Moved = std::array<Bytes, most_resources>;

struct KernelCost {
  Seconds time;     // on its unit, alone
  Flops flops;      // done by this rank
  Moved moved{};    // drawn from the resources that its unit has a port to
  Seconds compute;  // part of `time` when only arithmetic would count ...
  Seconds traffic;  // ... and only memory traffic: the larger says what bounds the kernel
  Joules energy;    // above idle and PowerSpec::active
  // How well the two overlap: as smooth_maximum has it. What `time` has beyond that depends on neither.
  double knee = std::numeric_limits<double>::infinity();
  Joules clocked{};  // part of `energy` that falls with a GPU's clocks
};

// One kernel after the other; the knee of the first that is one.
KernelCost& operator+=(KernelCost& sum, const KernelCost& next);

// (a^knee + b^knee)^(1/knee): the sum of the two for 1, the larger for infinity.
double smooth_maximum(double a, double b, double knee);

// With so many of its bytes in a cache of that bandwidth; what is neither arithmetic nor traffic stays. At
// most as many as it moves.
KernelCost reading_from_cache(KernelCost cost, Bytes hits, BytesPerSecond cache);

// On that share of its multiprocessors; what is neither arithmetic nor traffic stays.
KernelCost on_share(KernelCost cost, double multiprocessors);

// Decode attention while every request grows by one token a step: affine in the step number until `steps` are
// done (a wave, a table knot, the longest request overtaking the mean). steps >= 1; slope is per step.
struct AffineKernelCost {
  KernelCost first;
  KernelCost slope;
  std::int64_t steps = 1;
};

// The kernels of one GPU run against this.
struct Roof {
  FlopsPerSecond peak;  // dense, of the operator's activation type
  BytesPerSecond bandwidth;
  double multiprocessors = 0;
};

}  // namespace weir
