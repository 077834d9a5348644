#pragma once
// The phases of a training operator on the timeline: so many kernels, of each a rest and a middle, and what
// awaits them all. Every place adds an alternative to each of these; a place without kernels has it in the
// last middle. For plan_training alone.
#include <algorithm>
#include <vector>

#include "sim/step/training/training_step.h"

namespace weir {

struct Phase {
  StepGraph::Alternative way;
  Joules energy;
  double moving = 0;  // PlacedOperator's

  Seconds time() const { return way.portions[0].time; }
};

struct Phases {
  using Alternative = StepGraph::Alternative;

  explicit Phases(std::size_t kernels) : kernels_(kernels) {}
  std::size_t kernels() const { return kernels_; }

  PlacedOperator add(const Phase& whole, const Alternative& nothing, const Alternative& awaits) {
    rest.push_back(nothing);
    middle.push_back(nothing);
    last_middle.push_back(whole.way);
    after.push_back(awaits);
    return {{.alone = whole.time() + awaits.portions[0].time, .least_pairs = whole.way.least},
            whole.energy,
            whole.moving};
  }

  PlacedOperator add_each(const Phase& first, const Phase& then, const Alternative& awaits) {
    rest.push_back(first.way);
    middle.push_back(then.way);
    last_middle.push_back(then.way);
    after.push_back(awaits);
    const auto all = static_cast<double>(kernels_);
    return {{.alone = first.time() + then.time() + (all - 1) * std::max(first.time(), then.time()) +
                      awaits.portions[0].time,
             .least_pairs = then.way.least},
            all * (first.energy + then.energy)};
  }

  std::vector<Alternative> rest, middle, last_middle, after;

 private:
  std::size_t kernels_;
};

}  // namespace weir
