#pragma once
// Units as the catalogs' machines have them, for policies that place operators without a device.
#include "models/machine/machine.h"

namespace weir::test {

inline Unit unit(const std::string& name) {
  using enum KernelKind;
  const std::vector<KernelKind> kernels = {gemm, grouped_gemm, attention, elementwise};
  if (name == "link") return link_unit();
  if (name == "gpu" || name == "npu") return {name, kernels};
  if (name == "systolic") return {name, {gemm, grouped_gemm, attention}};
  if (name == "vector") return {name, {elementwise, softmax}};
  if (name == "pim") return {name, {logit, attend}, {{own_memory, 0.2}}, 32};
  if (name == "pim_blocked") return {name, {logit, attend}, {{own_memory, 1}}, 32};
  if (name == "gpu's pim") return {name, {decode_attention}};
  if (name == "ranksets" || name == "host_cpu") return {name, {decode_attention, copy}};
  if (name == "host_link") return {name, {copy}};
  if (name == "prefetch") return {name, {prefetch}};
  return {name, {}};
}

inline std::vector<Unit> units(const std::vector<std::string>& names) {
  std::vector<Unit> all;
  for (const std::string& name : names) all.push_back(unit(name));
  return all;
}

}  // namespace weir::test
