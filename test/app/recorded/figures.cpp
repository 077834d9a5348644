#include "test/app/recorded/figures.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "sim/app/results/csv.h"

namespace weir::test {
namespace {

std::string file_of(const std::string& name) {
  return WEIR_SOURCE_DIR "/test/app/recorded/figures/" + name + ".json";
}

bool left_out(const std::string& key) {
  static const std::set<std::string> keys = {"scenario", "notes", "version", "commit"};
  for (const char* spread : {"std_", "p50_", "p90_", "p95_"})
    if (key.starts_with(spread)) return true;
  return keys.contains(key);
}

void add(const Json& value, const std::string& path, Figures& to) {
  if (value.is_number() && value != 0) to[path] += value.get<double>();
  if (value.is_array())
    for (const Json& one : value) add(one, path, to);
  if (value.is_object())
    for (const auto& [key, one] : value.items())
      if (!left_out(key)) add(one, path.empty() ? key : path + "." + key, to);
}

double value_of(const Figures& figures, const std::string& path) {
  const auto at = figures.find(path);
  return at == figures.end() ? 0 : at->second;
}

}  // namespace

Figures figures_of(const Json& summary) {
  Figures figures;
  add(summary, "", figures);
  return figures;
}

Figures figures_of_columns(const std::filesystem::path& csv) {
  CsvReader reader(csv);
  Figures figures;
  for (int row = 1; reader.next(); ++row)
    for (std::size_t i = 0; i < reader.header().size(); ++i) {
      std::istringstream cell{std::string(reader.cells()[i])};
      double value = 0;
      if (cell >> value && cell.eof() && value != 0) figures[reader.header()[i]] += row * value;
    }
  return figures;
}

Figures figures_of_lines(const std::string& text) {
  Figures figures;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    for (std::string word; words >> word;) {
      double value = 0;
      if (std::istringstream number(word); number >> value) figures[first] += value;
    }
  }
  return figures;
}

FiguresByRun read_figures(const std::string& name) {
  return read_json_file(file_of(name)).get<FiguresByRun>();
}

// A run a line, so that a diff names those that moved. Seven digits are half of what counts as moved.
void write_figures(const std::string& name, const FiguresByRun& figures) {
  std::ofstream out(file_of(name));
  const char* before = "{\n";
  for (const auto& [run, of_run] : figures) {
    out << before << Json(run).dump() << ": {";
    const char* comma = "";
    for (const auto& [path, value] : of_run) {
      out << comma << Json(path).dump() << ": " << fmt::format("{:.7g}", value);
      comma = ", ";
    }
    out << "}";
    before = ",\n";
  }
  out << "\n}\n";
}

Figures other_than(const Figures& base, const Figures& now) {
  Figures other, all = base;
  all.insert(now.begin(), now.end());
  for (const auto& [path, unused] : all) {
    const double was = value_of(base, path), is = value_of(now, path);
    if (std::abs(is - was) > 1e-6 * std::abs(was)) other[path] = is;
  }
  return other;
}

std::string moved(const Figures& recorded, const Figures& now) {
  std::string lines;
  for (const auto& [path, is] : other_than(recorded, now))
    lines += fmt::format("{}: {:.9g}, was {:.9g}\n", path, is, value_of(recorded, path));
  return lines;
}

}  // namespace weir::test
