#include "sim/studies/steady_step.h"

#include <stdexcept>

namespace weir {
namespace {

// A whole number of any few steps that take turns, as those do that overlap with the next.
constexpr std::int64_t added = 12;

TrainingResult trained(Plan plan, std::int64_t steps) {
  plan.training.resize(1);
  plan.training[0].spec.steps = steps;
  return train(plan).front();
}

Seconds sum_of(const std::vector<Seconds>& members) {
  Seconds sum;
  for (const Seconds member : members) sum += member;
  return sum;
}

}  // namespace

double SteadyStep::busy_of(const std::string& unit) const {
  const auto found = busy.find(unit);
  return found == busy.end() ? 0 : found->second;
}

SteadyStep steady_step(const Plan& plan) {
  const std::int64_t steps = plan.training.front().spec.steps;
  if (steps <= added) throw std::runtime_error("a steady step is asked of too few steps");
  const TrainingResult few = trained(plan, steps - added), many = trained(plan, steps);
  const Seconds time = many.run.ends.back() - few.run.ends.back();
  SteadyStep step{.time = 1. / added * time,
                  .energy = 1. / added * (many.run.energy - few.run.energy),
                  .split = many.split.value()};
  for (const StepGraph::Unit& unit : many.step->plan().graph.units) {
    const double places = unit.amount > 0 ? unit.amount : unit.members;
    step.busy[unit.name] =
        (sum_of(many.run.busy.at(unit.name)) - sum_of(few.run.busy.at(unit.name))) / (places * time);
  }
  return step;
}

}  // namespace weir
