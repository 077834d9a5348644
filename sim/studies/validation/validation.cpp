#include "sim/studies/validation/validation.h"

namespace weir {

std::vector<ReproducedRow> reproduce_validation(const ReproduceOptions& options) {
  std::vector<ReproducedRow> rows;
  add_servers(options, rows);
  add_power(options, rows);
  add_kernels(options, rows);
  add_traces(options, rows);
  add_distserve(options, rows);
  add_peers(options, rows);
  add_wide_ep(options, rows);
  add_dram(options, rows);
  add_pim(options, rows);
  return rows;
}

}  // namespace weir
