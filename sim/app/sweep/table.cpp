// The table at the end of weir sweep: the winner and why, then the best configurations, best first. Metrics
// are means over seeds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/app/output/text_grid.h"
#include "sim/app/ranking/answer.h"
#include "sim/app/results/labels.h"
#include "sim/app/results/metric.h"
#include "sim/app/sweep/runner.h"

namespace weir {
namespace {

constexpr std::size_t most_rows = 10, most_answers = 20;

const char* const always[] = {"output_throughput", "p99_ttft_ms", "p99_tpot_ms"};
const char* const of_training[] = {"training_0_samples_per_s", "training_0_mean_step_ms",
                                   "training_0_energy_j"};

std::string shown(const Json& value) {
  constexpr std::size_t most = 28;
  const std::string text = value_text(value);
  return text.size() > most ? text.substr(0, most - 3) + "..." : text;
}

class Table {
 public:
  Table(const Ranking& ranking, const std::vector<Repeated>& rows, const ResultSet& results)
      : ranking_(ranking), rows_(rows) {
    for (const std::string& pointer : results.varied)
      if (pointer != "/seed") pointers_.push_back(pointer);
    columns_.push_back(ranking.metric);
    for (const char* metric : trains(results) ? of_training : always)
      if (metric != ranking.metric) columns_.emplace_back(metric);
  }

  std::string text(std::size_t width) const {
    TextGrid grid;
    std::vector<std::string> titles = short_names(pointers_);
    for (const std::string& metric : columns_) titles.push_back(metric_column(metric));
    if (!ranking_.marks.empty()) titles.push_back(ranking_.marks[0] == "pareto" ? "front" : "SLO");
    grid.add(std::move(titles));
    for (std::size_t i = 0; i < std::min(rows_.size(), most_rows); ++i) grid.add(cells(rows_[i]));
    return grid.text(width);
  }

 private:
  std::vector<std::string> cells(const Repeated& row) const {
    std::vector<std::string> cells;
    for (const std::string& pointer : pointers_) {
      const Json* value = value_of(row.varied, pointer);
      cells.push_back(value ? shown(*value) : "-");
    }
    for (const std::string& metric : columns_) cells.push_back(cell(row, metric));
    if (!ranking_.marks.empty()) cells.push_back(mark(row));
    return cells;
  }

  static std::string cell(const Repeated& row, const std::string& metric) {
    const std::size_t done = row.done().size();
    if (done == 0) return "failed";
    const std::string lost = done < row.points.size() ? fmt::format(" ({}/{})", done, row.points.size()) : "";
    const Estimate e = row.metric(metric);
    return with_dollars(metric, shown_estimate(e.mean, e.half_width)) + lost;
  }

  std::string mark(const Repeated& row) const {
    const auto has = [&](const char* column) { return row.metric(column).mean == 1; };
    if (ranking_.marks[0] == "pareto") return has("pareto") ? "on it" : "-";
    return has("cheapest") ? "cheapest" : has("meets_slo") ? "met" : row.done().empty() ? "-" : "missed";
  }

  const Ranking& ranking_;
  const std::vector<Repeated>& rows_;
  std::vector<std::string> pointers_;
  std::vector<std::string> columns_;  // metrics
};

std::string in_lines(const SweepAnswer& verdict) {
  std::string text = verdict.asked + "\n";
  for (std::size_t i = 0; i < std::min(verdict.answers.size(), most_answers); ++i)
    text += "  " + verdict.answers[i].winner + "\n" +
            (verdict.answers[i].next.empty() ? "" : "    " + verdict.answers[i].next + "\n");
  if (verdict.answers.size() > most_answers)
    text += fmt::format("  and {} more\n", verdict.answers.size() - most_answers);
  return text;
}

}  // namespace

std::vector<std::string> table_metrics() {
  std::vector<std::string> metrics = metrics_of_answers();
  for (const char* metric : always) metrics.emplace_back(metric);
  return metrics;
}

std::string sweep_table(const ResultSet& results, const std::string& csv, bool styled, std::size_t width) {
  const auto failed = std::count_if(results.points.begin(), results.points.end(),
                                    [](const PointResult& point) { return point.status != "done"; });
  const Ranking ranking = ranking_of(results);
  const std::vector<Repeated> rows = ranked(results, ranking);
  std::string text = styled ? "\033[1m" + results.name + "\033[0m" : results.name;
  text += fmt::format(": {} points done", std::ssize(results.points) - failed);
  if (failed > 0) text += fmt::format(", {} failed", failed);
  text += "\n" + in_lines(answer_of(results, ranking, rows)) + "\n";
  text += Table(ranking, rows, results).text(width);
  if (rows.size() > most_rows) text += fmt::format("  and {} more in {}\n", rows.size() - most_rows, csv);
  if (std::find(results.varied.begin(), results.varied.end(), "/seed") != results.varied.end())
    text += "Means over seeds, ± their 95 % confidence intervals\n";
  return fitted(text, width);
}

}  // namespace weir
