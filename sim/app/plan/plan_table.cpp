// The table that `weir plan` prints: the ranked deployments, what limits each, and how sure that is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/app/output/text_grid.h"
#include "sim/app/plan/outcome.h"
#include "sim/app/results/metric.h"

namespace weir {
namespace {

std::string asked(const PlanQuestion& question) {
  std::string devices;
  for (const Stock& stock : question.stock)
    devices += fmt::format("{}{} {}", devices.empty() ? "" : ", ", stock.count, stock.kind);
  const Demand& demand = question.demand;
  std::string load = fmt::format("{} requests", demand.requests);
  if (demand.span_s && *demand.span_s > 0)
    load = fmt::format("{} requests/s",
                       shown_number(static_cast<double>(demand.requests - 1) / *demand.span_s, 3));
  std::string slo;
  if (question.slo.ttft_ms) slo += fmt::format(" TTFT {:g} ms", *question.slo.ttft_ms);
  if (question.slo.tpot_ms)
    slo += fmt::format("{} TPOT {:g} ms", slo.empty() ? "" : " and", *question.slo.tpot_ms);
  return fmt::format("{} on up to {}, {} % of requests within{}", load, devices, question.slo.percentile,
                     slo);
}

std::string counts(const Deployments& deployments, const SearchCounts& of) {
  std::string text;
  for (const std::string what : {"layouts", "deployments"}) {
    const bool layouts = what == "layouts";
    std::vector<std::string> parts;
    for (const LeftOutOfPlan& left : deployments.left_out)
      if (left.what == what) parts.push_back(fmt::format("{} {}", grouped(left.count), left.why));
    if (!layouts)
      for (const auto& [count, why] : {std::pair(of.not_needed, "could not be better than those found"),
                                       {of.given_up, "were given up as too many requests were late"},
                                       {of.run, "were run"},
                                       {of.failed, "failed"}})
        if (count > 0) parts.push_back(fmt::format("{} {}", grouped(static_cast<std::int64_t>(count)), why));
    const std::int64_t all = layouts ? deployments.layouts : deployments.considered;
    text +=
        fmt::format("  {} {}{}{}\n", grouped(all), what, parts.empty() ? "" : ": ", fmt::join(parts, ", "));
  }
  return text;
}

// Where nothing is found, people want to know why.
std::string reasons(const Deployments& deployments) {
  std::string text;
  for (const LeftOutOfPlan& left : deployments.left_out)
    if (!left.example.empty())
      text += fmt::format("{} that {}, such as {}\n", left.what, left.why, left.example);
  return text.empty() ? text : text + "\n";
}

// With the error of such times where that is more than what is to spare, so that the bound is met or missed
// by less than anyone knows. It is that of means: a percentile's is no smaller.
std::string with_spare(const std::optional<double>& ms, const std::optional<double>& spare,
                       const std::optional<double>& error_percent) {
  if (!ms) return "-";
  if (!spare) return shown_number(*ms, 4);
  // error x (1 - spare) is a share of the bound, as the spare is.
  const double error = error_percent.value_or(0) / 100;
  const std::string bar =
      std::abs(*spare) < error * (1 - *spare) ? fmt::format(" ±{}", shown_number(*ms * error, 2)) : "";
  return fmt::format("{}{} ({:+.0f} %)", shown_number(*ms, 4), bar, 100 * *spare);
}

// The measurement nearest to each pool; a line for all where it is the same.
std::string how_sure(const RankedDeployment& best) {
  std::vector<std::string> words;
  for (const Evidence& evidence : best.confidence.of_pools) words.push_back(in_words(evidence));
  if (std::ranges::all_of(words, [&](const std::string& w) { return w == words[0]; })) words.resize(1);
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text +=
        fmt::format("How sure{}: {}\n",
                    words.size() > 1 ? fmt::format(" ({})", best.deployment->pools[i].role) : "", words[i]);
  return text;
}

std::string title_of_objective(const PlanQuestion& question) {
  std::string shown = fmt::format(fmt::runtime(question.objective.shown), "");
  std::erase(shown, ' ');
  return shown;
}

}  // namespace

std::string plan_table(const PlanQuestion& question, const Deployments& deployments, const PlanSearch& found,
                       const PlanOutcome& outcome, bool styled, std::size_t width) {
  std::string text =
      (styled ? "\033[1m" + question.name + "\033[0m" : question.name) + ": " + asked(question) + "\n";
  text += counts(deployments, found.counts) + "\n";
  if (outcome.met == 0) text += reasons(deployments);
  if (outcome.met == 0 && !outcome.ranked.empty()) text += "None meets the SLO; these come nearest:\n";
  const bool counts_devices = question.objective.metric == "device_count";
  TextGrid grid(2);
  std::vector<std::string> titles = {"", "deployment", "devices"};
  if (!counts_devices) titles.push_back(title_of_objective(question));
  const std::string p = fmt::format("p{}", question.slo.percentile);
  titles.insert(titles.end(), {"TTFT " + p + " ms (spare)", "TPOT " + p + " ms (spare)", "limited by",
                               "confidence (TPOT error)"});
  grid.add(titles);
  for (std::size_t i = 0; i < outcome.ranked.size(); ++i) {
    const RankedDeployment& row = outcome.ranked[i];
    const Evidence& worst = row.confidence.worst();
    std::vector<std::string> cells = {std::to_string(i + 1), row.deployment->name,
                                      std::to_string(row.deployment->devices())};
    if (!counts_devices)
      cells.push_back(with_dollars(question.objective.metric, shown_number(row.objective, 4)));
    cells.insert(cells.end(), {with_spare(row.ttft_ms, row.ttft_spare, worst.ttft_error_percent()),
                               with_spare(row.tpot_ms, row.tpot_spare, worst.tpot_error_percent()),
                               row.limited_by, row.confidence.brief()});
    grid.add(std::move(cells));
  }
  if (!outcome.ranked.empty()) text += grid.text(width) + "\n";
  text += "Together or apart: " + verdict_of(question, outcome) + "\n";
  if (!outcome.ranked.empty()) {
    text += how_sure(outcome.ranked[0]);
    const auto& calibration = outcome.ranked[0].confidence.calibration;
    text += calibration ? fmt::format("Calibrated to {}\n", *calibration)
                        : "Not calibrated to a server of yours (weir calibrate)\n";
  }
  return fitted(text, width);
}

}  // namespace weir
