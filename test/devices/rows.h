#pragma once
// The rows of the catalog by what they are: those that run models, and those that are memory of a host.
#include "sim/studies/validation/kernels.h"

namespace weir::test {

inline std::vector<std::string> rows_of(bool host_memory) {
  std::vector<std::string> rows;
  for (const std::string& kind : device_names())
    if (catalog_device(kind)->spec().runs_models() != host_memory) rows.push_back(kind);
  return rows;
}

inline std::vector<std::string> rows_that_run_models() {
  return rows_of(false);
}
inline std::vector<std::string> host_memories() {
  return rows_of(true);
}

}  // namespace weir::test
