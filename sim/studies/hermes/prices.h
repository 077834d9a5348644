#pragma once
// Dollars beside tokens a second: what the paper says that a system costs, and the catalog's price an hour.
#include "sim/studies/hermes/study.h"

namespace weir::hermes {

inline constexpr double hermes_dollars = 2500, tensorrt_dollars = 50000;  // Section V-F

inline constexpr const char* price_columns = "paper_dollars,dollars_per_hour,dollars_per_million_tokens";
// The price columns of a run, by its figures in the paper set.
inline std::string prices(const CaseResult& result, std::optional<double> paper_dollars) {
  if (!result.error.empty()) return ",,";
  return fmt::format("{},{:.5g},{:.5g}", csv(paper_dollars), result.dollars_per_hour,
                     result.dollars_per_hour / 3600 / result.output_throughput * 1e6);
}
inline std::string prices_of(const Runs& runs, const HermesRun& run) {
  const bool hermes = run.system->id == hermes_system.id;
  return prices(runs.found(run).paper, hermes ? std::optional(hermes_dollars) : std::nullopt);
}

}  // namespace weir::hermes
