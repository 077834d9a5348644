#include "sim/app/ranking/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/app/output/text_grid.h"
#include "sim/app/ranking/objective.h"
#include "sim/app/results/labels.h"
#include "sim/app/results/metric.h"

namespace weir {
namespace {

class Judge {
 public:
  Judge(const ResultSet& results, const Ranking& ranking, const std::vector<Repeated>& rows)
      : results_(results), ranking_(ranking), rows_(rows), slo_(slo_of(results)), trains_(trains(results)) {}

  SweepAnswer verdict() const {
    if (given("cheapest")) return {least(), cheapest()};
    if (given("capacity"))
      return {"Highest rate with " + in_words(slo_) + ":",
              first_and_next("missed even at the lowest rate tried")};
    if (given("pareto")) return {front(), best_of_each()};
    if (ranking_.metric == "request_goodput")
      return {"By goodput (" + in_words(slo_) + "), as the sweep has no search:",
              first_and_next("no request is")};
    if (trains_)
      return {"By samples/s of the first job, as the sweep has no search:", first_and_next("there are none")};
    return {"By output tokens/s, as the sweep has neither a search nor an SLO:",
            first_and_next("there are none")};
  }

 private:
  bool given(const char* search) const {
    return results_.resolved.is_object() && results_.resolved.contains(search) &&
           results_.resolved[search].is_object();
  }
  std::vector<std::string> texts(const char* search, const char* key) const {
    return results_.resolved.at(search).value(key, std::vector<std::string>{});
  }

  std::string least() const {
    return fmt::format("Least {} (ties: latency) with {}:",
                       results_.resolved.at("cheapest").at("objective").get<std::string>(), in_words(slo_));
  }

  // One a group, in the order of the sweep.
  std::vector<Answer> cheapest() const {
    const std::vector<std::string> per = texts("cheapest", "per");
    std::vector<std::string> groups;
    std::map<std::string, std::vector<const Repeated*>> serving;  // best first
    for (const PointResult& point : results_.points)
      if (const std::string group = label_of(point.varied, per); serving.try_emplace(group).second)
        groups.push_back(group);
    for (const Repeated& row : rows_)
      if (row.done().size() == row.points.size() && row.metric("meets_slo").mean == 1)
        serving[label_of(row.varied, per)].push_back(&row);
    std::vector<Answer> answers;
    for (const std::string& group : groups) {
      answers.push_back(winner_of(serving[group], per));
      if (!group.empty()) answers.back().winner = group + ": " + answers.back().winner;
    }
    return answers;
  }

  Answer winner_of(const std::vector<const Repeated*>& best_first,
                   const std::vector<std::string>& per) const {
    if (best_first.empty()) return {"none", ""};
    const Repeated& first = *best_first[0];
    Answer answer{why(first, per), ""};
    if (best_first.size() == 1) return answer;
    const Repeated& next = *best_first[1];
    answer.next = fmt::format("next {}, {}", name_of(next, per), value_of_row(next));
    if (place_by(objective(first), 0) == place_by(objective(next), 0))
      answer.next += fmt::format(", but end to end {} ms on average, not {}",
                                 shown_number(next.metric(tie_metric).mean, 4),
                                 shown_number(first.metric(tie_metric).mean, 4));
    return answer;
  }

  std::vector<Answer> first_and_next(const char* nothing) const {
    if (rows_.empty() || !(objective(rows_[0]) > 0)) return {{fmt::format("none: {}", nothing), ""}};
    Answer answer{why(rows_[0]), ""};
    if (rows_.size() > 1 && std::isfinite(objective(rows_[1])))
      answer.next = fmt::format("next {}, {}", name_of(rows_[1]), value_of_row(rows_[1]));
    return {answer};
  }

  std::string front() const {
    const auto on = std::count_if(rows_.begin(), rows_.end(),
                                  [](const Repeated& row) { return row.metric("pareto").mean == 1; });
    std::string text = fmt::format("{} of {} are on the Pareto front, these first", on, rows_.size());
    if (ranking_.metric == "request_goodput") text += ", by goodput (" + in_words(slo_) + ")";
    return text + ":";
  }

  // By what rows are ranked by, and by each of the front's own metrics.
  std::vector<Answer> best_of_each() const {
    std::vector<std::string> metrics = texts("pareto", "metrics");
    if (ranking_.metric != metrics.at(0)) metrics.insert(metrics.begin(), ranking_.metric);
    std::vector<Answer> answers;
    for (const std::string& metric : metrics) {
      const Repeated* best = nullptr;
      for (const Repeated& row : rows_) {
        const double value = row.metric(metric).mean;
        if (row.metric("pareto").mean != 1 || !std::isfinite(value)) continue;
        const double record = best ? best->metric(metric).mean : value;
        if (!best || (less_is_better(metric) ? value < record : value > record)) best = &row;
      }
      if (best)
        answers.push_back(
            {fmt::format("{}: {} by {}", metric_title(metric),
                         with_dollars(metric, shown_number(best->metric(metric).mean, 4)), name_of(*best)),
             ""});
    }
    return answers;
  }

  std::string why(const Repeated& row, const std::vector<std::string>& without = {}) const {
    return fmt::format("{}, {} ({})", name_of(row, without), value_of_row(row), latencies(row));
  }

  std::string name_of(const Repeated& row, const std::vector<std::string>& without = {}) const {
    Varied varied = row.varied;
    std::erase_if(varied, [&](const auto& v) {
      return std::find(without.begin(), without.end(), v.first) != without.end();
    });
    return varied.empty() ? "the only configuration" : label_of(varied);
  }

  double objective(const Repeated& row) const { return row.metric(ranking_.metric).mean; }

  std::string value_of_row(const Repeated& row) const {
    return fmt::format(fmt::runtime(ranking_.shown), shown_number(objective(row), 4));
  }

  // Names the latencies that an SLO bounds; both where it bounds nothing.
  std::string latencies(const Repeated& row) const {
    if (trains_)
      return fmt::format("{} ms a step", shown_number(row.metric("training_0_mean_step_ms").mean, 4));
    const int p = slo_.percentile > 0 ? slo_.percentile : 99;
    std::string text;
    for (const auto& [key, title] : {std::pair("ttft_ms", "TTFT"), {"tpot_ms", "TPOT"}})
      if (!slo_ || slo_.of(key))
        text += fmt::format("{}{} {} ms", text.empty() ? fmt::format("p{} ", p) : ", ", title,
                            shown_number(row.metric(fmt::format("p{}_{}", p, key)).mean, 4));
    return text;
  }

  const ResultSet& results_;
  const Ranking& ranking_;
  const std::vector<Repeated>& rows_;
  const SloBounds slo_;
  const bool trains_;
};

}  // namespace

SweepAnswer answer_of(const ResultSet& results, const Ranking& ranking, const std::vector<Repeated>& ranked) {
  return Judge(results, ranking, ranked).verdict();
}

std::vector<std::string> metrics_of_answers() {
  std::vector<std::string> metrics = metrics_of_rankings();
  for (const char* key : {"ttft_ms", "tpot_ms"})
    for (const int p : {50, 90, 95, 99}) metrics.push_back(fmt::format("p{}_{}", p, key));
  return metrics;
}

}  // namespace weir
