#include "sim/app/output/rows/of_run.h"

#include <algorithm>

namespace weir {

using namespace metrics;

namespace {

using Of = std::function<const Distribution&(const FinishedRun&)>;

// Seven statistics each, as vLLM's benchmark has them. Columns are of the median and the 99th percentile.
void add_distribution(std::vector<MetricRow>& rows, const std::string& path, const std::string& title,
                      const std::string& column, const std::function<bool(const FinishedRun&)>& asked,
                      const Of& of) {
  const auto dot = path.rfind('.');
  const std::string below = dot == std::string::npos ? "" : path.substr(0, dot + 1),
                    quantity = path.substr(below.size());
  static const std::pair<const char*, double Distribution::*> statistics[] = {
      {"mean", &Distribution::mean}, {"median", &Distribution::median}, {"std", &Distribution::std},
      {"p50", &Distribution::p50},   {"p90", &Distribution::p90},       {"p95", &Distribution::p95},
      {"p99", &Distribution::p99}};
  for (const auto& [name, member] : statistics) {
    const std::string statistic = name;
    const bool heads = !column.empty() && (statistic == "median" || statistic == "p99");
    MetricRow row{below + statistic + "_" + quantity,
                  statistic + " " + title,
                  "ms",
                  column.empty() ? "" : column + " " + (statistic == "median" ? "p50" : statistic) + " ms",
                  less,
                  shown};
    if (below.empty() && statistic != "std" && statistic != "p50")
      row.use = heads && (column == "TTFT" || column == "TPOT") ? ranked_first : ranked;
    row.of = where(asked, [of, at = member](const FinishedRun& run) { return of(run).*at; });
    rows.push_back(std::move(row));
  }
}

bool always(const FinishedRun&) {
  return true;
}

void add_requests(std::vector<MetricRow>& rows) {
  const auto at_rate = [](double Metrics::*rate) {
    return measured([rate](const Metrics& m) { return m.*rate; });
  };
  const std::vector<MetricRow> table = {
      {"duration", "Duration", "s", "", less, ranked,
       measured([](const Metrics& m) { return m.duration.value(); })},
      {"completed", "Completed requests", "", "", more, shown,
       measured([](const Metrics& m) { return m.completed; })},
      {"failed", "Failed requests", "", "", less, shown,
       measured([](const Metrics& m) { return m.rejected + m.lost + m.unfinished; })},
      {"rejected", "Rejected requests", "", "", less, shown,
       measured([](const Metrics& m) { return m.rejected; })},
      {"unfinished", "Unfinished requests", "", "", less, shown,
       measured([](const Metrics& m) { return m.unfinished; })},
      {"lost", "Requests lost with a device", "", "", less, shown,
       where([](const FinishedRun& run) { return run.result.stopped.has_value(); },
             [](const FinishedRun& run) { return run.metrics.lost; })},
      {"total_input_tokens", "Input tokens", "", "", neither, shown,
       measured([](const Metrics& m) { return m.input_tokens; })},
      {"total_output_tokens", "Output tokens", "", "", neither, shown,
       measured([](const Metrics& m) { return m.output_tokens; })},
      {"request_throughput", "Requests/s", "", "requests/s", more, ranked_first,
       at_rate(&Metrics::request_throughput)},
      {"request_goodput", "Goodput", "requests/s", "goodput /s", more, ranked_first,
       measured([](const Metrics& m) { return or_null(m.goodput); })},
      {"output_throughput", "Output tokens/s", "", "output tok/s", more, ranked_first,
       at_rate(&Metrics::output_throughput)},
      {"total_token_throughput", "Tokens/s, in and out", "", "", more, ranked,
       at_rate(&Metrics::total_throughput)},
  };
  rows.insert(rows.end(), table.begin(), table.end());
}

void add_latencies(std::vector<MetricRow>& rows) {
  const auto of = [](Distribution Metrics::*member) {
    return [member](const FinishedRun& run) -> const Distribution& { return run.metrics.*member; };
  };
  add_distribution(rows, "ttft_ms", "TTFT", "TTFT", always, of(&Metrics::ttft_ms));
  add_distribution(rows, "tpot_ms", "TPOT", "TPOT", always, of(&Metrics::tpot_ms));
  add_distribution(rows, "itl_ms", "ITL", "ITL", always, of(&Metrics::itl_ms));
  add_distribution(rows, "e2el_ms", "End to end", "E2E", always, of(&Metrics::e2el_ms));
}

void add_sessions(std::vector<MetricRow>& rows) {
  const auto has = [](const FinishedRun& run) { return run.metrics.sessions.has_value(); };
  rows.push_back({"sessions.count", "Sessions", "", "", neither, shown,
                  where(has, [](const FinishedRun& run) { return run.metrics.sessions->count; })});
  rows.push_back(
      {"sessions.completed", "Completed sessions", "", "", more, shown,
       where(has, [](const FinishedRun& run) { return run.metrics.sessions->time_to_complete_ms.count; })});
  add_distribution(rows, "sessions.time_to_complete_ms", "session, first arrival to last token", "", has,
                   [](const FinishedRun& run) -> const Distribution& {
                     return run.metrics.sessions->time_to_complete_ms;
                   });
}

}  // namespace

void add_request_metrics(std::vector<MetricRow>& rows) {
  add_requests(rows);
  add_latencies(rows);
  add_sessions(rows);
}

}  // namespace weir
