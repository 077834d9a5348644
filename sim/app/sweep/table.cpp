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

struct Column {
  std::string title, metric;
};
const Column always[] = {
    {"output tok/s", "output_throughput"}, {"TTFT p99 ms", "p99_ttft_ms"}, {"TPOT p99 ms", "p99_tpot_ms"}};

const Column of_training[] = {{"samples/s", "training_0_samples_per_s"},
                              {"step ms", "training_0_mean_step_ms"},
                              {"energy J", "training_0_energy_j"}};

// The title of what rows are ranked by is short, as the numbers have their dollars.
std::string title_of(const std::string& metric) {
  const Column titles[] = {
      {"capacity /s", "capacity_rate_per_s"},      {"goodput /s", "request_goodput"},
      {"cost /hour", "cost_dollars_per_hour"},     {"cost /Mtok", "cost_dollars_per_million_output_tokens"},
      {"J/token", "joules_per_output_token"},      {"devices", "device_count"},
      {"tok/s/device", "tokens_per_s_per_device"}, {"tok/s/user", "tokens_per_s_per_user"}};
  for (const Column& column : titles)
    if (column.metric == metric) return column.title;
  return metric;
}

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
    columns_.push_back({title_of(ranking.metric), ranking.metric});
    for (const Column& column : trains(results) ? of_training : always)
      if (column.metric == ranking.metric)
        columns_[0] = column;
      else
        columns_.push_back(column);
  }

  std::string text(std::size_t width) const {
    TextGrid grid;
    std::vector<std::string> titles = short_names(pointers_);
    for (const Column& column : columns_) titles.push_back(column.title);
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
    for (const Column& column : columns_) cells.push_back(cell(row, column));
    if (!ranking_.marks.empty()) cells.push_back(mark(row));
    return cells;
  }

  static std::string cell(const Repeated& row, const Column& column) {
    const std::size_t done = row.done().size();
    if (done == 0) return "failed";
    const std::string lost = done < row.points.size() ? fmt::format(" ({}/{})", done, row.points.size()) : "";
    const Estimate e = row.metric(column.metric);
    return with_dollars(column.metric, shown_estimate(e.mean, e.half_width)) + lost;
  }

  std::string mark(const Repeated& row) const {
    const auto has = [&](const char* column) { return row.metric(column).mean == 1; };
    if (ranking_.marks[0] == "pareto") return has("pareto") ? "on it" : "-";
    return has("cheapest") ? "cheapest" : has("meets_slo") ? "met" : row.done().empty() ? "-" : "missed";
  }

  const Ranking& ranking_;
  const std::vector<Repeated>& rows_;
  std::vector<std::string> pointers_;
  std::vector<Column> columns_;
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
  for (const Column& column : always) metrics.push_back(column.metric);
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
