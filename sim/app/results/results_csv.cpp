#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "sim/app/output/output_file.h"
#include "sim/app/results/store.h"

namespace weir {
namespace {

std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string cell(const Json& value) {
  return cell(value.is_string() ? value.get<std::string>() : value.dump());
}

std::string value_at(const Varied& varied, const std::string& pointer) {
  const auto found =
      std::find_if(varied.begin(), varied.end(), [&](const auto& one) { return one.first == pointer; });
  return found == varied.end() ? "" : cell(found->second);
}

}  // namespace

void write_results_csv(const std::filesystem::path& path, const ResultSet& results) {
  std::vector<std::vector<std::pair<std::string, double>>> metrics;  // of each point
  std::vector<std::string> columns;                                  // of all of them, as first met
  std::unordered_map<std::string, std::size_t> column_of;
  for (const PointResult& point : results.points)
    for (const auto& [name, value] : metrics.emplace_back(scalar_metrics(point.summary)))
      if (column_of.emplace(name, columns.size()).second) columns.push_back(name);

  OutputFile file(path);
  for (const std::string& pointer : results.varied) file.print("{},", cell(pointer));
  file.text("status");
  for (const std::string& name : columns) file.print(",{}", cell(name));
  file.line_done();
  std::vector<double> row;
  for (std::size_t i = 0; i < results.points.size(); ++i) {
    const PointResult& point = results.points[i];
    for (const std::string& pointer : results.varied) file.print("{},", value_at(point.varied, pointer));
    file.text(point.status);
    row.assign(columns.size(), std::nan(""));
    for (const auto& [name, value] : metrics[i]) row[column_of[name]] = value;
    for (const double value : row) std::isnan(value) ? file.text(",") : file.print(",{}", value);
    file.line_done();
  }
  file.close();
}

}  // namespace weir
