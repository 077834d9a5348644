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

// In one pass, as every summary must be parsed: a row's numbers wait for the columns that later ones add.
void write_results_csv(const std::filesystem::path& path, const std::filesystem::path& database,
                       const std::vector<std::string>& varied) {
  struct Row {
    std::string given;            // the cells of what varies, and the status
    std::vector<double> numbers;  // as far as columns were known; NaN: it has none
  };
  std::vector<Row> rows;
  std::vector<std::string> columns;  // of all points, as first met
  std::unordered_map<std::string, std::size_t> column_of;
  each_point(database, [&](const PointResult& point) {
    Row& row = rows.emplace_back();
    for (const std::string& pointer : varied) {
      const Json* value = value_of(point.varied, pointer);
      row.given += (value ? cell(*value) : "") + ",";
    }
    row.given += point.status;
    row.numbers.assign(columns.size(), std::nan(""));
    for (const auto& [name, value] : scalar_metrics(point.summary)) {
      const auto [at, first] = column_of.emplace(name, columns.size());
      if (first) columns.push_back(name);
      row.numbers.resize(columns.size(), std::nan(""));
      row.numbers[at->second] = value;
    }
  });
  OutputFile file(path);
  for (const std::string& pointer : varied) file.print("{},", cell(pointer));
  file.text("status");
  for (const std::string& name : columns) file.print(",{}", cell(name));
  file.line_done();
  for (Row& row : rows) {
    row.numbers.resize(columns.size(), std::nan(""));
    file.text(row.given);
    for (const double value : row.numbers) std::isnan(value) ? file.text(",") : file.print(",{}", value);
    file.line_done();
  }
  file.close();
}

}  // namespace weir
