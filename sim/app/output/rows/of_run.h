#pragma once
// Helpers to make rows of a run that serves, and their three lots in the order of summary.json.
#include <utility>

#include "sim/app/output/rows/metric_rows.h"
#include "sim/app/output/writers.h"

namespace weir::metrics {

using enum Better;
using enum Use;
using Value = std::optional<Json>;

inline double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

template <class Number>
Json or_null(const std::optional<Number>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// A number of a run's metrics, of its result, or of the run where `asked`.
template <class Get>
auto measured(Get get) {
  return [get](const FinishedRun& run) -> Value { return Json(get(run.metrics)); };
}
template <class Get>
auto counted(Get get) {
  return [get](const FinishedRun& run) -> Value { return Json(get(run.result)); };
}
template <class Asked, class Get>
auto where(Asked asked, Get get) {
  return [asked, get](const FinishedRun& run) -> Value {
    return asked(run) ? Value(Json(get(run))) : std::nullopt;
  };
}

}  // namespace weir::metrics

namespace weir {

void add_request_metrics(std::vector<MetricRow>& rows);   // counts, rates, latencies, sessions
void add_resource_metrics(std::vector<MetricRow>& rows);  // energy, cost, KV cache, prompts that were found
void add_engine_metrics(std::vector<MetricRow>& rows);    // predictions, drafts, experts, neurons, steps

}  // namespace weir
