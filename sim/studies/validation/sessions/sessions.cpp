// Recorded agents beside their replay, a row a run and figure: where the tokens of prompts came from, how
// long first tokens took, and how long the others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/app/output/output_file.h"
#include "sim/studies/validation/sessions/replayed.h"
#include "sim/studies/validation/sessions/server.h"
#include "sim/studies/validation/validation.h"

namespace weir {
namespace {

constexpr std::uint64_t seeds = 5;
// A run of the measured phase's 1,800 s that ended long before has a server that failed: its shares alone are
// compared.
constexpr double whole_run_s = 1350;
constexpr double long_ttft_ms = 10'000;  // from here on the mean is compared, else the median once settled

struct Compared {
  const RecordedRun& run;
  const ReplayedRun& replayed;
  double ttft_mean_ms, late_ttft_median_ms, itl_mean_ms;  // recorded

  bool whole() const { return run.end_s() >= whole_run_s; }
};

Compared compared(const RecordedRun& run, const ReplayedRun& replayed) {
  const auto ttft = [&](std::size_t i) { return run.requests[i].ttft_ms; };
  return {run, replayed, mean_ms(run, ttft), late_median_ms(run, ttft),
          mean_ms(run, [&](std::size_t i) { return run.requests[i].itl_ms; })};
}

ReproducedRow row_of(const Compared& c, const char* what, std::string metric, double recorded,
                     double replayed) {
  ReproducedRow row;
  row.id = fmt::format("sessions_{}_{}", c.run.id, what);
  row.metric = std::move(metric);
  row.paper = recorded;
  if (c.replayed.error.empty()) row.simulated = replayed;
  row.note =
      c.replayed.error.empty()
          ? fmt::format("{} {} TP{}, {} agents{}", c.run.hardware, c.run.model, c.run.tensor, c.run.lanes,
                        c.run.tier_gb ? fmt::format(", tier of {} GB", *c.run.tier_gb) : "")
          : c.replayed.error;
  return row;
}

ReproducedRow share_row(const Compared& c) {
  const double share = 100 * c.run.computed_share;
  ReproducedRow row =
      row_of(c, "computed", "prompt tokens computed, %", share, 100 * c.replayed.computed_share);
  const bool few = share < 30, tier = c.run.tier_gb.has_value();
  const double within = few ? (tier ? 4 : 3) : (tier ? 15 : 6);
  row.accept_min = share - within;
  row.accept_max = share + within;
  // Whether it is beyond the knee must be right, how wide the bound is or not.
  (share < 50 ? row.accept_max : row.accept_min) =
      share < 50 ? std::min(*row.accept_max, 50.0) : std::max(*row.accept_min, 50.0);
  return row;
}

ReproducedRow ttft_row(const Compared& c) {
  const bool mean = c.ttft_mean_ms > long_ttft_ms;
  const double recorded = mean ? c.ttft_mean_ms : c.late_ttft_median_ms,
               replayed = mean ? c.replayed.ttft_mean_ms : c.replayed.late_ttft_median_ms;
  ReproducedRow row =
      row_of(c, "ttft", mean ? "mean TTFT, ms" : fmt::format("median TTFT after {:.0f} s, ms", settled_s),
             recorded, replayed);
  if (!c.whole()) {
    add_note(row, "the run ended early");
    return row;
  }
  const double within = !mean ? 0.4 : c.run.tier_gb ? 0.3 : 0.2;
  row.accept_min = (1 - within) * recorded;
  row.accept_max = (1 + within) * recorded;
  return row;
}

ReproducedRow itl_row(const Compared& c) {
  ReproducedRow row = row_of(c, "itl", "mean ITL, ms", c.itl_mean_ms, c.replayed.itl_mean_ms);
  if (!c.whole()) {
    add_note(row, "the run ended early");
    return row;
  }
  row.accept_min = 0.65 * c.itl_mean_ms;
  row.accept_max = 1.35 * c.itl_mean_ms;
  return row;
}

// Equal values share the mean of their ranks.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<double> of;
  for (const double value : values) {
    const auto below = std::ranges::count_if(values, [&](double v) { return v < value; });
    const auto equal = std::ranges::count(values, value);
    of.push_back(static_cast<double>(below) + static_cast<double>(equal - 1) / 2);
  }
  return of;
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = static_cast<double>(x.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

void add_summaries(const std::vector<Compared>& all, std::vector<ReproducedRow>& rows) {
  std::vector<double> recorded, replayed;
  double itl_error = 0;
  int whole = 0;
  std::string failed;
  for (const Compared& c : all) {
    if (!c.replayed.error.empty()) {
      failed += (failed.empty() ? "failed: " : ", ") + c.run.id;
      continue;
    }
    recorded.push_back(c.ttft_mean_ms);
    replayed.push_back(c.replayed.ttft_mean_ms);
    if (!c.whole()) continue;
    itl_error += std::abs(100 * (c.replayed.itl_mean_ms / c.itl_mean_ms - 1));
    ++whole;
  }
  ReproducedRow order;
  order.id = "sessions_ttft_order";
  order.metric = fmt::format("Spearman's rank correlation of {} mean TTFTs", recorded.size());
  order.note = failed;
  if (recorded.size() > 1 && failed.empty()) order.simulated = spearman(recorded, replayed);
  if (recorded.size() > 3 || !failed.empty()) order.accept_min = 0.95;  // of a few it says nothing
  rows.push_back(order);
  ReproducedRow itl;
  itl.id = "sessions_itl_all";
  itl.metric = fmt::format("mean |error| of mean ITL, %, of {}", whole);
  itl.note = failed;
  if (whole > 0 && failed.empty()) itl.simulated = itl_error / whole;
  itl.accept_max = 15;
  rows.push_back(itl);
}

void write_points(const std::filesystem::path& path, const std::vector<Compared>& all) {
  OutputFile points(path);
  points.text("run,device,model,tensor,agents,tier_gb,requests");
  for (const char* what : {"computed_share", "ttft_mean_ms", "late_ttft_median_ms", "itl_mean_ms"})
    points.print(",recorded_{0},replayed_{0}", what);
  points.text(",replayed_preemptions\n");
  for (const Compared& c : all) {
    if (!c.replayed.error.empty()) continue;
    points.print("{},{},{},{},{},{},{}", c.run.id, c.run.hardware, c.run.model, c.run.tensor, c.run.lanes,
                 c.run.tier_gb.value_or(0), c.run.requests.size());
    points.print(",{:.4f},{:.4f},{:.1f},{:.1f}", c.run.computed_share, c.replayed.computed_share,
                 c.ttft_mean_ms, c.replayed.ttft_mean_ms);
    points.print(",{:.1f},{:.1f},{:.2f},{:.2f},{:.1f}\n", c.late_ttft_median_ms,
                 c.replayed.late_ttft_median_ms, c.itl_mean_ms, c.replayed.itl_mean_ms,
                 c.replayed.preemptions);
  }
  points.close();
}

}  // namespace

void add_sessions(const ReproduceOptions& options, std::vector<ReproducedRow>& rows) {
  if (!options.reference || !std::filesystem::exists(*options.reference / "sessions" / "runs.csv")) return;
  std::map<std::string, int> left_out;
  std::vector<RecordedRun> runs = recorded_runs(*options.reference / "sessions", options.files);
  std::erase_if(runs, [&](const RecordedRun& run) {
    const std::string what = missing_for(run);
    if (!what.empty()) ++left_out[what];
    return !what.empty();
  });
  const std::vector<ReplayedRun> replayed = replay(runs, seeds, options.files / "sessions", options);
  std::vector<Compared> all;
  for (std::size_t i = 0; i < runs.size(); ++i) all.push_back(compared(runs[i], replayed[i]));
  for (const Compared& c : all) {
    rows.push_back(share_row(c));
    rows.push_back(ttft_row(c));
    rows.push_back(itl_row(c));
  }
  add_summaries(all, rows);
  for (const auto& [what, count] : left_out) {
    ReproducedRow row;
    row.id = "sessions_left_out_" + what;
    row.metric = "runs that are not simulated";
    row.simulated = count;
    rows.push_back(row);
  }
  write_points(options.files / "sessions.csv", all);
}

}  // namespace weir
