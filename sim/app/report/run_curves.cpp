// What the page of a single run shows beside its summary: the distribution of its latencies, from
// requests.csv, and its course, from timeseries.csv; both thinned to what a chart can show.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>

#include "sim/app/report/page.h"

namespace weir {
namespace {

constexpr std::size_t quantiles = 200, moments = 500;

struct Column {
  std::string name;
  std::vector<double> values;  // NaN where a cell has no number
};

std::vector<std::string_view> cells(std::string_view line) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= line.size();) {
    const std::size_t end = std::min(line.find(',', from), line.size());
    parts.push_back(line.substr(from, end - from));
    from = end + 1;
  }
  return parts;
}

// Weir's own files have no quotes. No column if there is no such file.
std::vector<Column> read_columns(const std::filesystem::path& file) {
  std::vector<Column> columns;
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return columns;
  for (const std::string_view name : cells(line)) columns.push_back({std::string(name), {}});
  while (std::getline(in, line)) {
    const std::vector<std::string_view> row = cells(line);
    for (std::size_t i = 0; i < std::min(row.size(), columns.size()); ++i) {
      double value = std::nan("");
      std::from_chars(row[i].data(), row[i].data() + row[i].size(), value);
      columns[i].values.push_back(value);
    }
  }
  return columns;
}

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
  Json latencies = Json::object(), course = Json::object();
  for (const Column& column : read_columns(directory / "requests.csv"))
    if (column.name == "ttft_ms" || column.name == "tpot_ms" || column.name == "e2el_ms")
      latencies[column.name] = quantiles_of(column.values);
  for (const Column& column : read_columns(directory / "timeseries.csv"))
    course[column.name] = means_of(column.values);
  return {{"latencies", latencies}, {"course", course}};
}

}  // namespace weir
