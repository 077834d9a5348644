#include "sim/step/cost/step_cost.h"

namespace weir {

StepCost& StepCost::operator+=(const StepCost& o) {
  time += o.time;
  compute_bound += o.compute_bound;
  memory_bound += o.memory_bound;
  link_bound += o.link_bound;
  host_bound += o.host_bound;
  flops += o.flops;
  for (std::size_t resource = 0; resource < most_resources; ++resource) moved[resource] += o.moved[resource];
  prefetch += o.prefetch;
  energy += o.energy;
  clocked += o.clocked;
  for (std::size_t unit = 0; unit < most_units; ++unit) busy[unit] += o.busy[unit];
  return *this;
}

void StepCost::wait_for_host(Seconds late) {
  host_bound += late;
  time += late;
}

StepCost& StepCost::stretch(double factor) {
  for (Seconds* part : {&time, &compute_bound, &memory_bound, &link_bound, &host_bound})
    *part = factor * *part;
  for (Seconds& unit : busy) unit = factor * unit;
  return *this;
}

StepCost operator*(double k, const StepCost& c) {
  StepCost scaled{.time = k * c.time,
                  .compute_bound = k * c.compute_bound,
                  .memory_bound = k * c.memory_bound,
                  .link_bound = k * c.link_bound,
                  .host_bound = k * c.host_bound,
                  .flops = k * c.flops,
                  .moved = {},
                  .prefetch = k * c.prefetch,
                  .energy = k * c.energy,
                  .clocked = k * c.clocked,
                  .busy = {}};
  for (std::size_t resource = 0; resource < most_resources; ++resource)
    scaled.moved[resource] = k * c.moved[resource];
  for (std::size_t unit = 0; unit < StepCost::most_units; ++unit) scaled.busy[unit] = k * c.busy[unit];
  return scaled;
}

Seconds StepRun::time(std::int64_t n) const {
  const auto k = static_cast<double>(n);
  return k * first.time + k * (k - 1) / 2 * slope.time;
}

StepCost StepRun::total(std::int64_t n) const {
  const auto k = static_cast<double>(n);
  StepCost sum = k * first;
  sum += k * (k - 1) / 2 * slope;
  return sum;
}

StepCost attributed(const KernelCost& kernel, const Operator& op, double times) {
  StepCost cost;
  cost.time = times * kernel.time;
  (is_collective(op)                 ? cost.link_bound
   : kernel.compute > kernel.traffic ? cost.compute_bound
                                     : cost.memory_bound) = cost.time;
  cost.flops = times * kernel.flops;
  for (std::size_t resource = 0; resource < most_resources; ++resource)
    cost.moved[resource] = times * kernel.moved[resource];
  cost.energy = times * kernel.energy;
  cost.clocked = times * kernel.clocked;
  cost.busy[static_cast<std::size_t>(op.unit)] = cost.time;
  return cost;
}

}  // namespace weir
