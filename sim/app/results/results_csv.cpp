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

}  // namespace

void write_results_csv(const std::filesystem::path& path, const std::filesystem::path& database,
                       const std::vector<std::string>& varied) {
  std::vector<std::string> columns;  // of all points, as first met
  std::unordered_map<std::string, std::size_t> column_of;
  each_point(database, [&](const PointResult& point) {
    for (const auto& [name, value] : scalar_metrics(point.summary))
      if (column_of.emplace(name, columns.size()).second) columns.push_back(name);
  });
  OutputFile file(path);
  for (const std::string& pointer : varied) file.print("{},", cell(pointer));
  file.text("status");
  for (const std::string& name : columns) file.print(",{}", cell(name));
  file.line_done();
  std::vector<double> row;
  each_point(database, [&](const PointResult& point) {
    for (const std::string& pointer : varied) {
      const Json* value = value_of(point.varied, pointer);
      file.print("{},", value ? cell(*value) : "");
    }
    file.text(point.status);
    row.assign(columns.size(), std::nan(""));
    for (const auto& [name, value] : scalar_metrics(point.summary)) row[column_of[name]] = value;
    for (const double value : row) std::isnan(value) ? file.text(",") : file.print(",{}", value);
    file.line_done();
  });
  file.close();
}

}  // namespace weir
