#include "test/app/shipped_figures.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <set>

namespace weir::test {
namespace {

constexpr const char* file = WEIR_SOURCE_DIR "/test/app/shipped_figures.json";

bool left_out(const std::string& key) {
  static const std::set<std::string> keys = {"scenario", "notes", "version", "commit"};
  for (const char* spread : {"std_", "p50_", "p90_", "p95_"})
    if (key.starts_with(spread)) return true;
  return keys.contains(key);
}

void add(const Json& value, const std::string& path, Figures& to) {
  if (value.is_number()) to[path] += value.get<double>();
  if (value.is_array())
    for (const Json& one : value) add(one, path, to);
  if (value.is_object())
    for (const auto& [key, one] : value.items())
      if (!left_out(key)) add(one, path.empty() ? key : path + "." + key, to);
}

}  // namespace

Figures figures_of(const Json& summary) {
  Figures figures;
  add(summary, "", figures);
  return figures;
}

const std::map<std::string, Figures>& recorded_figures() {
  static const auto recorded = read_json_file(file).get<std::map<std::string, Figures>>();
  return recorded;
}

// One scenario a line, so that a diff names those that moved.
void record_figures(const std::map<std::string, Figures>& by_scenario) {
  std::ofstream out(file);
  const char* before = "{\n";
  for (const auto& [scenario, figures] : by_scenario) {
    out << before << Json(scenario).dump() << ": {";
    const char* comma = "";
    for (const auto& [path, value] : figures) {
      out << comma << Json(path).dump() << ": " << fmt::format("{:.9g}", value);
      comma = ", ";
    }
    out << "}";
    before = ",\n";
  }
  out << "\n}\n";
}

std::string moved(const Figures& recorded, const Figures& now) {
  std::string lines;
  Figures all = recorded;
  all.insert(now.begin(), now.end());
  for (const auto& [path, unused] : all) {
    const auto was = recorded.find(path), is = now.find(path);
    if (was == recorded.end()) {
      lines += fmt::format("{}: {:.9g}, new\n", path, is->second);
    } else if (is == now.end()) {
      lines += fmt::format("{}: gone, was {:.9g}\n", path, was->second);
    } else if (std::abs(is->second - was->second) > 1e-6 * std::abs(was->second)) {
      lines += fmt::format("{}: {:.9g}, was {:.9g}\n", path, is->second, was->second);
    }
  }
  return lines;
}

}  // namespace weir::test
