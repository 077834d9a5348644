// Costs of steps add up, scale and stretch field by field: small numbers by hand, all of them unequal.
#include "sim/step/cost/step_cost.h"

#include <catch2/catch.hpp>

using namespace weir;

namespace {

// Fields are `k` times 1, 2, 3 and so on.
StepCost cost_of(double k) {
  StepCost cost{.time = Seconds(k),
                .compute_bound = Seconds(2 * k),
                .memory_bound = Seconds(3 * k),
                .link_bound = Seconds(4 * k),
                .host_bound = Seconds(5 * k),
                .flops = Flops(6 * k),
                .moved = {},
                .prefetch = {Bytes(7 * k), Bytes(8 * k), Bytes(9 * k), Bytes(10 * k)},
                .energy = Joules(11 * k),
                .clocked = Joules(12 * k),
                .busy = {}};
  for (std::size_t r = 0; r < most_resources; ++r) cost.moved[r] = Bytes((20 + static_cast<double>(r)) * k);
  for (std::size_t u = 0; u < StepCost::most_units; ++u)
    cost.busy[u] = Seconds((30 + static_cast<double>(u)) * k);
  return cost;
}

void check_work(const StepCost& cost, double k) {
  CHECK(cost.flops.value() == Approx(6 * k));
  CHECK(cost.prefetch.fetched.value() == Approx(7 * k));
  CHECK(cost.prefetch.used.value() == Approx(8 * k));
  CHECK(cost.prefetch.evicted.value() == Approx(9 * k));
  CHECK(cost.prefetch.left.value() == Approx(10 * k));
  CHECK(cost.energy.value() == Approx(11 * k));
  CHECK(cost.clocked.value() == Approx(12 * k));
  for (std::size_t r = 0; r < most_resources; ++r)
    CHECK(cost.moved[r].value() == Approx((20 + static_cast<double>(r)) * k));
}

void check_times(const StepCost& cost, double k) {
  CHECK(cost.time.value() == Approx(k));
  CHECK(cost.compute_bound.value() == Approx(2 * k));
  CHECK(cost.memory_bound.value() == Approx(3 * k));
  CHECK(cost.link_bound.value() == Approx(4 * k));
  CHECK(cost.host_bound.value() == Approx(5 * k));
  for (std::size_t u = 0; u < StepCost::most_units; ++u)
    CHECK(cost.busy[u].value() == Approx((30 + static_cast<double>(u)) * k));
}

KernelCost kernel_of(double compute, double traffic) {
  KernelCost kernel;
  kernel.time = Seconds(2);
  kernel.compute = Seconds(compute);
  kernel.traffic = Seconds(traffic);
  kernel.flops = Flops(3);
  for (std::size_t r = 0; r < most_resources; ++r) kernel.moved[r] = Bytes(5 + static_cast<double>(r));
  kernel.energy = Joules(7);
  kernel.clocked = Joules(4);
  return kernel;
}

}  // namespace

TEST_CASE("step cost: sums and multiples have every field, on every resource and unit") {
  StepCost sum = cost_of(2);
  sum += cost_of(5);
  check_times(sum, 7);
  check_work(sum, 7);
  check_times(3. * cost_of(2), 6);
  check_work(3. * cost_of(2), 6);
}

TEST_CASE("step cost: stretched, the same work takes longer, and a wait is the host's alone") {
  StepCost cost = cost_of(2);
  cost.stretch(1.5);
  check_times(cost, 3);
  check_work(cost, 2);
  StepCost late = cost_of(1);
  late.wait_for_host(Seconds(10));
  CHECK(late.time.value() == Approx(11));
  CHECK(late.host_bound.value() == Approx(15));
  CHECK(late.link_bound.value() == Approx(4));
  CHECK(late.busy[0].value() == Approx(30));
}

TEST_CASE("step cost: a run's first steps cost what they add up to") {
  // Steps take 10, 13, 16 and 19 s: 58 of four, 39 of three.
  const StepRun run{cost_of(10), cost_of(3), 7};
  CHECK(run.time(0).value() == Approx(0).margin(1e-12));
  CHECK(run.time(1).value() == Approx(10));
  CHECK(run.time(3).value() == Approx(39));
  CHECK(run.time(4).value() == Approx(58));
  check_times(run.total(4), 58);
  check_work(run.total(4), 58);
}

TEST_CASE("step cost: a kernel's time goes to what bounds it and to its unit, as often as it runs") {
  Operator gemm;
  gemm.kernel = Gemm();
  gemm.unit = 2;
  Operator call;
  call.kernel = Communication();
  call.unit = 1;
  const StepCost computes = attributed(kernel_of(1.5, 1.4), gemm, 3);
  CHECK(computes.time.value() == Approx(6));
  CHECK(computes.compute_bound.value() == Approx(6));
  CHECK(computes.memory_bound + computes.link_bound + computes.host_bound == Seconds(0));
  CHECK(computes.flops.value() == Approx(9));
  CHECK(computes.energy.value() == Approx(21));
  CHECK(computes.clocked.value() == Approx(12));
  for (std::size_t r = 0; r < most_resources; ++r)
    CHECK(computes.moved[r].value() == Approx(3 * (5 + static_cast<double>(r))));
  for (std::size_t u = 0; u < StepCost::most_units; ++u)
    CHECK(computes.busy[u].value() == Approx(u == 2 ? 6 : 0));
  // Where arithmetic and traffic take as long it is the memory's.
  const StepCost even = attributed(kernel_of(1.5, 1.5), gemm, 3);
  CHECK(even.memory_bound.value() == Approx(6));
  CHECK(even.compute_bound + even.link_bound == Seconds(0));
  const StepCost sends = attributed(kernel_of(1.5, 1.4), call, 3);
  CHECK(sends.link_bound.value() == Approx(6));
  CHECK(sends.compute_bound + sends.memory_bound == Seconds(0));
  CHECK(sends.busy[1].value() == Approx(6));
  CHECK(sends.busy[0] + sends.busy[2] == Seconds(0));
}
