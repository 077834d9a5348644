#include "models/memory/ndp_dimm/ndp_core.h"

#include <cmath>
#include <stdexcept>

namespace weir {
namespace {

constexpr double element_bytes = 2;  // FP16

// ESTIMATE: the paper has 1.23 mm2 at 7 nm and no power. FP16 multiplication and addition at 7 nm, and 64
// bits of an 8 KB SRAM for four operands out of the buffer (Jouppi et al., Ten Lessons From Three Generations
// Shaped Google's TPUv4i, ISCA 2021, Table 2). All 256 multipliers at work are then 0.3 W, 0.25 W/mm2.
constexpr double multiplication_joules = 0.34e-12, addition_joules = 0.16e-12,
                 sram_joules_per_byte = 7.5e-12 / 8;
constexpr double mac_joules = multiplication_joules + addition_joules + element_bytes * sram_joules_per_byte;

int passes(NdpFunction function) {
  return function == NdpFunction::softmax ? 3 : 1;
}

void check_macs(double macs) {
  if (!(macs >= 0) || std::isinf(macs)) throw std::invalid_argument("a number of MACs that cannot be");
}

}  // namespace

Seconds NdpCore::multiply(double macs) const {
  check_macs(macs);
  return macs / (multipliers * macs_per_cycle) * cycle;
}

Seconds NdpCore::activate(NdpFunction function, std::int64_t elements) const {
  if (elements < 0) throw std::invalid_argument("activation of less than no element");
  const std::int64_t cycles = (elements + activation_units - 1) / activation_units;
  return static_cast<double>(passes(function) * cycles) * cycle;
}

Bytes NdpCore::held(std::int64_t sequences, std::int64_t elements) {
  if (sequences < 0 || elements < 0) throw std::invalid_argument("a buffer of less than nothing");
  return Bytes(element_bytes * static_cast<double>(sequences) * static_cast<double>(elements));
}

Joules NdpCore::multiply_energy(double macs) const {
  check_macs(macs);
  return Joules(macs * mac_joules);
}

// ESTIMATE: a pass over an element costs as much as a MAC.
Joules NdpCore::activate_energy(NdpFunction function, std::int64_t elements) const {
  return multiply_energy(passes(function) * static_cast<double>(elements));
}

void check_ndp_core(const NdpCore& core) {
  const auto positive = [](double value) { return value > 0 && !std::isinf(value); };
  if (core.multipliers < 1 || core.activation_units < 1 || !positive(core.macs_per_cycle) ||
      !positive(core.cycle.value()) || !positive(core.buffer.value()))
    throw std::invalid_argument("an NDP core without multipliers, activation units, buffer or clock");
}

}  // namespace weir
