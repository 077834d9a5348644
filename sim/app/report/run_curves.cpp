// The page of a single run shows these beside its summary: the distribution of its latencies, from
// requests.csv, and its course, from timeseries.csv; both thinned to what a chart can show.
#include <algorithm>
#include <cmath>

#include "sim/app/report/page.h"
#include "sim/app/results/csv.h"
#include "sim/app/results/result_set.h"

namespace weir {
namespace {

constexpr std::size_t quantiles = 200, moments = 500;

Json quantiles_of(std::vector<double> values) {
  std::erase_if(values, [](double v) { return std::isnan(v); });
  std::sort(values.begin(), values.end());
  Json list = Json::array();
  for (std::size_t q = 0; q <= quantiles && !values.empty(); ++q)
    list.push_back(significant(values[q * (values.size() - 1) / quantiles]));
  return list;
}

Json means_of(const std::vector<double>& values) {
  const std::size_t group = (values.size() + moments - 1) / moments;
  Json list = Json::array();
  for (std::size_t from = 0; from < values.size(); from += group) {
    const std::size_t end = std::min(from + group, values.size());
    double sum = 0;
    for (std::size_t i = from; i < end; ++i) sum += values[i];
    list.push_back(significant(sum / static_cast<double>(end - from)));
  }
  return list;
}

}  // namespace

Json run_curves(const std::filesystem::path& directory) {
  namespace fs = std::filesystem;
  Json latencies = Json::object(), course = Json::object();
  if (const fs::path file = directory / "requests.csv"; fs::exists(file)) {
    const std::vector<std::string> names = {"ttft_ms", "tpot_ms", "e2el_ms"};
    auto columns = read_columns(file, names);
    const std::vector<char> measured = measured_rows(directory, columns[0].size());
    for (std::vector<double>& column : columns)
      for (std::size_t i = 0; i < column.size(); ++i)
        if (!measured[i]) column[i] = std::nan("");
    for (std::size_t i = 0; i < names.size(); ++i) latencies[names[i]] = quantiles_of(std::move(columns[i]));
  }
  if (const fs::path file = directory / "timeseries.csv"; fs::exists(file)) {
    const std::vector<std::string> names = CsvReader(file).header();
    const auto columns = read_columns(file, names);
    for (std::size_t i = 0; i < names.size(); ++i) course[names[i]] = means_of(columns[i]);
  }
  return {{"latencies", latencies}, {"course", course}};
}

}  // namespace weir
