#pragma once
// The rows of the catalog by what they are: those that run models, those that are memory of a host, and those
// that run training operators alone.
#include <catch2/catch.hpp>

#include "devices/host_memory/host_memory.h"
#include "models/neurons/neurons.h"
#include "models/nn/tensor_operation.h"
#include "sim/studies/validation/kernels.h"

namespace weir::test {

template <class Predicate>
std::vector<std::string> rows_of(const Predicate& holds) {
  std::vector<std::string> rows;
  for (const std::string& kind : device_names())
    if (holds(*catalog_device(kind))) rows.push_back(kind);
  return rows;
}

inline std::shared_ptr<const HostMemory> catalog_memory(const std::string& kind,
                                                        const Json& keys = Json::object()) {
  return std::dynamic_pointer_cast<const HostMemory>(catalog_device(kind, keys));
}

inline std::vector<std::string> rows_that_run_models() {
  return rows_of([](const Device& device) { return device.spec().runs_models(); });
}
inline std::vector<std::string> host_memories() {
  return rows_of([](const Device& device) { return dynamic_cast<const HostMemory*>(&device) != nullptr; });
}
inline std::vector<std::string> rows_that_only_train() {
  return rows_of([](const Device& device) {
    const auto& units = device.spec().units;
    return !device.spec().runs_models() && unit_running(units, multiply_add_kind) >= 0;
  });
}
// Numbers that no machine can do without.
inline void check_plausible(const Device& device, const std::string& kind) {
  const DeviceSpec& spec = device.spec();
  CHECK(spec.kind == kind);
  CHECK(spec.notes.title.size() > 5);
  CHECK(device_summary(kind) == spec.notes.title);
  CHECK(spec.own().capacity > Bytes(1e9));
  CHECK(spec.dollars_per_hour > 0);
  CHECK(spec.power.idle < spec.power.tdp);
}
// Every multiplier and every byte of bandwidth for a second.
inline Joules at_full_load(const DeviceSpec& spec, DataType type) {
  const Flops flops(spec.peak(type).value());
  return spec.power.idle * Seconds(1) +
         spec.power.dynamic(flops, spec.own().bandwidth * Seconds(1), Bytes(0));
}
// The joules of a kernel by itself under the device's limit, of the device, and the seconds.
inline ClockedDraw under_limit(const DeviceSpec& spec, const KernelCost& cost) {
  const Seconds bound = cost.compute > cost.traffic ? cost.time : Seconds(0);
  const PowerDraw draw{bound, cost.time - bound, cost.clocked, cost.energy - cost.clocked};
  ClockedDraw kept = at_level(spec.power, draw, clock_level(spec.power, draw));
  kept.energy += (spec.power.idle + spec.power.active) * kept.time;
  return kept;
}
// Without those that compute neurons.
inline std::vector<std::string> dimms() {
  std::vector<std::string> rows = host_memories();
  std::erase_if(rows, [](const std::string& kind) {
    return catalog_device(kind)->spec().units.front().runs(neurons_kind);
  });
  return rows;
}

}  // namespace weir::test
