// What weir sweep prints at its end: the answers of its searches, and every configuration if they are few,
// the best ones if they are many. Seeds are averaged.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/app/output/text_grid.h"
#include "sim/app/results/labels.h"
#include "sim/app/results/metric.h"
#include "sim/app/results/repetitions.h"
#include "sim/app/sweep/runner.h"

namespace weir {
namespace {

constexpr std::size_t few = 30;

struct Column {
  const char *title, *metric, *best;
};
constexpr Column columns[] = {
    {"capacity /s", "capacity_rate_per_s", "Highest capacity, requests/s"},  // if it was searched for
    {"output tok/s", "output_throughput", "Most output tokens a second"},
    {"TTFT p99 ms", "p99_ttft_ms", "Lowest TTFT p99"},
    {"TPOT p99 ms", "p99_tpot_ms", "Lowest TPOT p99"}};

std::string shown(const Json& value) {
  constexpr std::size_t most = 28;
  const std::string text = value_text(value);
  return text.size() > most ? text.substr(0, most - 3) + "..." : text;
}

class Table {
 public:
  Table(const ResultSet& results, std::size_t width) : width_(width), rows_(repetitions(results)) {
    for (const std::string& pointer : results.varied)
      if (pointer != "/seed") pointers_.push_back(pointer);
    names_ = short_names(pointers_);
    for (const Column& column : columns)
      if (column.metric != std::string("capacity_rate_per_s") || any_has(column.metric))
        columns_.push_back(column);
  }

  bool is_short() const { return rows_.size() <= few; }

  std::string all() const {
    TextGrid grid;
    std::vector<std::string> titles = names_;
    for (const Column& column : columns_) titles.emplace_back(column.title);
    grid.add(std::move(titles));
    for (const Repeated& row : rows_) {
      std::vector<std::string> cells;
      for (const std::string& pointer : pointers_) {
        const Json* value = value_of(row.varied, pointer);
        cells.push_back(value ? shown(*value) : "-");
      }
      for (const Column& column : columns_) cells.push_back(cell(row, column));
      grid.add(std::move(cells));
    }
    return grid.text(width_);
  }

  std::string best() const {
    TextGrid grid;
    for (const Column& column : columns_) {
      const Repeated* best = nullptr;
      for (const Repeated& row : rows_) {
        const double value = row.metric(column.metric).mean;
        const double record = best ? best->metric(column.metric).mean : std::nan("");
        if (!std::isnan(value) &&
            (!best || (less_is_better(column.metric) ? value < record : value > record)))
          best = &row;
      }
      if (best) grid.add({column.best, cell(*best, column), in_words(best->varied)});
    }
    return grid.text(width_);
  }

  // Of the cheapest search, one line an answer: as many as are few.
  std::string cheapest() const {
    if (!any_has("cheapest")) return "";
    std::size_t found = 0;
    std::string text;
    for (const Repeated& row : rows_) {
      if (row.metric("cheapest").mean != 1 || ++found > few) continue;
      text += fmt::format("  {}: {} devices, {} $\n", in_words(row.varied),
                          shown_number(row.metric("device_count").mean, 4),
                          shown_number(row.metric("cost_dollars").mean, 3));
    }
    if (found > few) text += fmt::format("  and {} more\n", found - few);
    return "Cheapest that meets the SLO:\n" + (found > 0 ? text : "  none does\n");
  }

 private:
  bool any_has(const char* metric) const {
    return std::any_of(rows_.begin(), rows_.end(),
                       [&](const Repeated& row) { return row.metric(metric).count > 0; });
  }

  static std::string cell(const Repeated& row, const Column& column) {
    const std::size_t done = row.done().size();
    if (done == 0) return "failed";
    const Estimate e = row.metric(column.metric);
    const std::string lost = done < row.points.size() ? fmt::format(" ({}/{})", done, row.points.size()) : "";
    return shown_estimate(e.mean, e.half_width) + lost;
  }

  std::size_t width_;
  std::vector<Repeated> rows_;
  std::vector<std::string> pointers_, names_;
  std::vector<Column> columns_;
};

}  // namespace

std::vector<std::string> table_metrics() {
  std::vector<std::string> metrics = {"cheapest", "device_count", "cost_dollars"};
  for (const Column& column : columns) metrics.emplace_back(column.metric);
  return metrics;
}

std::string sweep_table(const ResultSet& results, const std::string& csv, bool styled, std::size_t width) {
  const auto failed = std::count_if(results.points.begin(), results.points.end(),
                                    [](const PointResult& point) { return point.status != "done"; });
  const Table table(results, width);
  std::string text = styled ? "\033[1m" + results.name + "\033[0m" : results.name;
  text += fmt::format(": {} points done", std::ssize(results.points) - failed);
  if (failed > 0) text += fmt::format(", {} failed", failed);
  text += "\n" + (table.is_short() ? table.all() : table.best()) + table.cheapest();
  if (!table.is_short()) text += fmt::format("Every point is in {}\n", csv);
  if (std::find(results.varied.begin(), results.varied.end(), "/seed") != results.varied.end())
    text += "Means over seeds, ± their 95 % confidence intervals\n";
  return fitted(text, width);
}

}  // namespace weir
