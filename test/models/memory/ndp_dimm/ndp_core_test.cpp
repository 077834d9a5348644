#include "models/memory/ndp_dimm/ndp_core.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "models/memory/ndp_dimm/dimm_link.h"

using namespace weir;

TEST_CASE("NDP core: 256 bit-serial multipliers make 128 MACs a nanosecond, and in proportion") {
  CHECK(NdpCore().multiply(128e9).value() == Approx(1));
  for (const int multipliers : {32, 64, 512})
    for (const double macs_per_cycle : {0.5, 1.0, 8.0}) {
      const NdpCore core{.multipliers = multipliers, .macs_per_cycle = macs_per_cycle};
      CHECK(core.multiply(1e9).value() == Approx(1 / (multipliers * macs_per_cycle)));
      CHECK(core.multiply_energy(1e9) == NdpCore().multiply_energy(1e9));  // of the work, not of the width
    }
  CHECK(NdpCore().multiply(0) == Seconds(0));
}

TEST_CASE("NDP core: the activation unit takes 256 elements a cycle and pass") {
  const NdpCore core;
  CHECK(core.activate(NdpFunction::relu, 0) == Seconds(0));
  CHECK(core.activate(NdpFunction::relu, 1).value() == Approx(1e-9));
  CHECK(core.activate(NdpFunction::relu, 256).value() == Approx(1e-9));
  CHECK(core.activate(NdpFunction::relu, 257).value() == Approx(2e-9));
  CHECK(core.activate(NdpFunction::softmax, 4096).value() == Approx(48e-9));
  CHECK(core.activate_energy(NdpFunction::softmax, 1000).value() ==
        Approx(3 * core.activate_energy(NdpFunction::relu, 1000).value()));
}

TEST_CASE("NDP core: all its multipliers at work draw what 1.23 mm2 can be cooled for") {
  const NdpCore core;
  const double watts = core.multiply_energy(1e9) / Joules(1) / core.multiply(1e9).value();
  CHECK(watts == Approx(0.304).epsilon(0.001));  // 128e9 x (0.34 + 0.16 + 2 x 7.5 / 8) pJ
  CHECK(watts / 1.23 < 1);                       // W/mm2, of Galal and Horowitz's (2010) high-energy designs
}

TEST_CASE("NDP core: sixteen sequences of 8192 FP16 inputs fill the buffer to the byte") {
  CHECK(NdpCore::held(16, 8192) == NdpCore().buffer);
  CHECK(NdpCore::held(0, 8192) == Bytes(0));
}

TEST_CASE("NDP core: what cannot be is refused") {
  const NdpCore core;
  CHECK_NOTHROW(check_ndp_core(core));
  CHECK_THROWS_AS(check_ndp_core({.multipliers = 0}), std::invalid_argument);
  CHECK_THROWS_AS(check_ndp_core({.macs_per_cycle = 0}), std::invalid_argument);
  CHECK_THROWS_AS(check_ndp_core({.macs_per_cycle = NAN}), std::invalid_argument);
  CHECK_THROWS_AS(check_ndp_core({.cycle = Seconds(0)}), std::invalid_argument);
  CHECK_THROWS_AS(check_ndp_core({.buffer = Bytes(-1)}), std::invalid_argument);
  CHECK_THROWS_AS(check_ndp_core({.activation_units = 0}), std::invalid_argument);
  CHECK_THROWS_AS(core.multiply(-1), std::invalid_argument);
  CHECK_THROWS_AS(core.multiply(NAN), std::invalid_argument);
  CHECK_THROWS_AS(core.multiply_energy(INFINITY), std::invalid_argument);
  CHECK_THROWS_AS(core.activate(NdpFunction::relu, -1), std::invalid_argument);
  CHECK_THROWS_AS(core.activate_energy(NdpFunction::relu, -1), std::invalid_argument);
  CHECK_THROWS_AS(NdpCore::held(-1, 1), std::invalid_argument);
}

TEST_CASE("DIMM-link: a neuron of LLaMA2-70B crosses in 1.97 us for 0.46 uJ") {
  const DimmLink link;
  CHECK(link.bandwidth.value() == Approx(25e9));
  const Bytes neuron(48.0 * 1024);
  CHECK(link.transfer(neuron).value() == Approx(1.966e-6).epsilon(0.001));
  CHECK(link.transfer_energy(neuron).value() == Approx(0.460e-6).epsilon(0.001));
}
