#pragma once
// The rows of the catalog by what they are: those that run models, and those that are memory of a host.
#include "devices/host_memory/host_memory.h"
#include "sim/studies/validation/kernels.h"

namespace weir::test {

inline std::vector<std::string> rows_of(bool host_memory) {
  std::vector<std::string> rows;
  for (const std::string& kind : device_names())
    if (catalog_device(kind)->spec().runs_models() != host_memory) rows.push_back(kind);
  return rows;
}

inline std::shared_ptr<const HostMemory> catalog_memory(const std::string& kind,
                                                        const Json& keys = Json::object()) {
  return std::dynamic_pointer_cast<const HostMemory>(catalog_device(kind, keys));
}

inline std::vector<std::string> rows_that_run_models() {
  return rows_of(false);
}
inline std::vector<std::string> host_memories() {
  return rows_of(true);
}
// Without those that compute neurons.
inline std::vector<std::string> dimms() {
  std::vector<std::string> rows = host_memories();
  std::erase_if(rows, [](const std::string& kind) {
    return catalog_device(kind)->spec().units.front().runs(KernelKind::neurons);
  });
  return rows;
}

}  // namespace weir::test
