#include "sim/studies/validation/validation.h"

#include <algorithm>

namespace weir {
namespace {

struct ValidationPart {
  std::vector<const char*> ids;  // that its rows' ids begin with
  void (*add)(const ReproduceOptions& options, std::vector<ReproducedRow>& rows);

  bool named_by(const std::string& only) const {
    return std::ranges::any_of(ids, [&](const char* id) { return may_name(only, id); });
  }
};

const std::vector<ValidationPart> validation_parts = {{{"servers", "frontier"}, add_servers},
                                                      {{"sessions"}, add_sessions},
                                                      {{"power_"}, add_power},
                                                      {{"kernel_"}, add_kernels},
                                                      {{"vllm_trace_"}, add_traces},
                                                      {{"distserve_"}, add_distserve},
                                                      {{"peer_"}, add_peers},
                                                      {{"wide_ep_"}, add_wide_ep},
                                                      {{"dram_"}, add_dram},
                                                      {{"pim_"}, add_pim}};

}  // namespace

std::vector<std::string> validation_ids() {
  std::vector<std::string> ids;
  for (const ValidationPart& part : validation_parts) ids.insert(ids.end(), part.ids.begin(), part.ids.end());
  return ids;
}

std::vector<ReproducedRow> reproduce_validation(const ReproduceOptions& options) {
  const auto is_asked = [&](const ValidationPart& part) {
    return std::ranges::any_of(options.only, [&](const std::string& only) { return part.named_by(only); });
  };
  std::vector<ReproducedRow> rows;
  for (const ValidationPart& part : validation_parts)
    if (options.only.empty() || is_asked(part)) part.add(options, rows);
  return rows;
}

}  // namespace weir
