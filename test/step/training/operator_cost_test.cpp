// Costs of a training operator alone: bytes over a slow link, and a device's power limit, by hand.
#include "sim/step/training/operator_cost.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace weir;

namespace {

// Any kernel takes 2 s and moves 100 bytes of its own memory, 900 of others.
struct TwoSeconds final : Device {
  DeviceSpec described;
  KernelCost kernel;
  TwoSeconds(double compute, double traffic, double energy) {
    described.power = {};
    described.power.active = Watts(50);
    kernel.time = Seconds(2);
    kernel.compute = Seconds(compute);
    kernel.traffic = Seconds(traffic);
    kernel.moved[own_memory] = Bytes(100);
    kernel.moved[interconnect] = Bytes(900);
    kernel.energy = Joules(energy);
  }
  const DeviceSpec& spec() const override { return described; }
  KernelCost cost(const KernelWork& work, int unit) const override {
    CHECK(work.rows == 1);
    CHECK(unit == 3);
    return kernel;
  }
  void limit() {
    described.power.idle = Watts(100);
    described.power.tdp = Watts(400);
    described.power.clocked = true;
  }
  KernelCost of(double reach) const {
    return operator_cost(*this, 3, "any", TensorOperation{}, BytesPerSecond(reach));
  }
};

constexpr double at_once = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE(
    "training: an operator's bytes go no faster than they reach its device, which is active meanwhile") {
  const TwoSeconds device(1.5, 1, 30);
  CHECK(device.of(at_once).time.value() == Approx(2));
  CHECK(device.of(at_once).energy.value() == Approx(30 + 50 * 2));
  CHECK(device.of(50).time.value() == Approx(2));
  CHECK(device.of(20).time.value() == Approx(5));
  CHECK(device.of(20).energy.value() == Approx(30 + 50 * 5));
  CHECK(device.of(20).moved[own_memory] == Bytes(100));
}

TEST_CASE("training: under its power limit a device slows what arithmetic bounds, and waits with the rest") {
  // 600 J are more than 250 W give in 2 s. With clocks of c there are 300 - 50 c^3 W for 2 / c s: 598 J at
  // 117/132, 605 J at 116/132. It draws 300 W all that time.
  TwoSeconds computes(1.5, 1.4, 600);
  computes.limit();
  CHECK(computes.of(at_once).time.value() == Approx(2 * 132. / 116));
  CHECK(computes.of(at_once).energy.value() == Approx(300 * 2 * 132. / 116));
  // Bytes, or as much of both, are no slower at lower clocks: at half of them it waits for 293.75 W.
  TwoSeconds moves(1.5, 1.5, 600);
  moves.limit();
  CHECK(moves.of(at_once).time.value() == Approx(600 / 293.75));
  CHECK(moves.of(at_once).energy.value() == Approx(300 * 600 / 293.75));
  // Just the limit is none.
  TwoSeconds fits(1.5, 1.4, 500);
  fits.limit();
  CHECK(fits.of(at_once).time.value() == Approx(2));
  CHECK(fits.of(at_once).energy.value() == Approx(500 + 50 * 2));
}
