// What weir sweep prints at its end: every point if they are few, the best ones if they are many.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/app/sweep/runner.h"

namespace weir {
namespace {

constexpr std::size_t few = 30;

struct Column {
  const char* title;
  const char* metric;
  bool more_is_better;
  const char* best;
};
constexpr Column columns[] = {{"output tok/s", "output_throughput", true, "Most output tokens a second"},
                              {"TTFT p99 ms", "p99_ttft_ms", false, "Lowest TTFT p99"},
                              {"TPOT p99 ms", "p99_tpot_ms", false, "Lowest TPOT p99"}};

// The last parts of a pointer: as many as tell it from the others, and an index never alone.
std::string short_name(const std::string& pointer, const std::vector<std::string>& all) {
  std::size_t from = pointer.rfind('/');
  const auto ambiguous = [&] {
    const std::string end = pointer.substr(from);
    return end.find_first_not_of("/0123456789") == std::string::npos ||
           std::count_if(all.begin(), all.end(), [&](const std::string& p) { return p.ends_with(end); }) > 1;
  };
  while (from != std::string::npos && from > 0 && ambiguous()) from = pointer.rfind('/', from - 1);
  return from == std::string::npos ? pointer : pointer.substr(from + 1);
}

std::string shown(const Json& value) {
  constexpr std::size_t most = 28;
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.size() > most) text = text.substr(0, most - 3) + "...";
  return text;
}

std::optional<double> metric(const PointResult& point, const char* name) {
  const auto found = point.summary.is_object() ? point.summary.find(name) : point.summary.end();
  if (found == point.summary.end() || !found->is_number()) return {};
  return found->get<double>();
}

std::string shown(std::optional<double> value) {
  if (!value) return "-";
  return std::abs(*value) >= 999.5 ? fmt::format("{:.0f}", *value) : fmt::format("{:.4g}", *value);
}

std::string table_of_all(const ResultSet& results) {
  std::vector<std::vector<std::string>> rows(1);
  for (const std::string& pointer : results.varied) rows[0].push_back(short_name(pointer, results.varied));
  for (const Column& column : columns) rows[0].push_back(column.title);
  for (const PointResult& point : results.points) {
    std::vector<std::string>& row = rows.emplace_back();
    for (const std::string& pointer : results.varied) {
      const auto found = std::find_if(point.varied.begin(), point.varied.end(),
                                      [&](const auto& one) { return one.first == pointer; });
      row.push_back(found == point.varied.end() ? "-" : shown(found->second));
    }
    for (const Column& column : columns)
      row.push_back(point.status == "done" ? shown(metric(point, column.metric)) : "failed");
  }
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) text += fmt::format("  {:>{}}", row[c], widths[c]);
    text += "\n";
  }
  return text;
}

std::string table_of_best(const ResultSet& results) {
  std::string text;
  for (const Column& column : columns) {
    const PointResult* best = nullptr;
    for (const PointResult& point : results.points) {
      const auto value = metric(point, column.metric);
      const auto record = best ? metric(*best, column.metric) : std::nullopt;
      if (value && (!record || (column.more_is_better ? *value > *record : *value < *record))) best = &point;
    }
    if (!best) continue;
    std::string where;
    for (const auto& [pointer, value] : best->varied)
      where += fmt::format("{}{} {}", where.empty() ? "" : ", ", short_name(pointer, results.varied),
                           shown(value));
    text += fmt::format("  {:<29}{:>9}   {}\n", column.best, shown(metric(*best, column.metric)), where);
  }
  return text;
}

}  // namespace

std::string sweep_table(const ResultSet& results, bool styled) {
  const auto failed = std::count_if(results.points.begin(), results.points.end(),
                                    [](const PointResult& point) { return point.status != "done"; });
  std::string text = styled ? "\033[1m" + results.name + "\033[0m" : results.name;
  text += fmt::format(": {} points done", std::ssize(results.points) - failed);
  if (failed > 0) text += fmt::format(", {} failed", failed);
  return text + "\n" + (results.points.size() <= few ? table_of_all(results) : table_of_best(results));
}

}  // namespace weir
