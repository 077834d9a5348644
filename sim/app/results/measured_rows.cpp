#include "sim/app/results/result_set.h"

#include <algorithm>

#include "sim/app/results/csv.h"
#include "sim/core/params.h"

namespace weir {

std::vector<char> measured_rows(const std::filesystem::path& directory, std::size_t rows) {
  std::vector<char> measured(rows, 1);
  if (const auto file = directory / "sessions.csv"; std::filesystem::exists(file)) {
    const std::vector<double> column = read_columns(file, {"measured"})[0];
    for (std::size_t i = 0; i < std::min(rows, column.size()); ++i) measured[i] = column[i] != 0;
    return measured;
  }
  const auto file = directory / "summary.json";
  if (!std::filesystem::exists(file)) return measured;
  const Json summary = read_json_file(file);
  const Json::json_pointer at("/scenario/workload/arrivals/warmup_requests");
  if (summary.contains(at) && summary[at].is_number_unsigned())
    std::fill_n(measured.begin(), std::min(rows, summary[at].get<std::size_t>()), 0);
  return measured;
}

}  // namespace weir
