// Numbers of points of sweeps: ratios that are made of others, and what a search finds.
#include <limits>

#include "sim/app/output/rows/metric_rows.h"

namespace weir {
namespace {

using enum Better;
using enum Use;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

double number(const Json& summary, const char* key) {
  const Json value = summary.value(key, Json(nullptr));
  return value.is_number() ? value.get<double>() : unknown;
}

double devices_of(const Json& summary) {
  double devices = 0;
  for (const Json& unit : summary.value("devices", Json::array())) devices += unit.value("devices", 0.0);
  return devices;
}

// NaN where the area of one of them is not known.
double mm2_of(const Json& summary) {
  double mm2 = 0;
  for (const Json& unit : summary.value("devices", Json::array()))
    mm2 += unit.value("devices", 0.0) * number(unit, "die_mm2");
  return mm2;
}

}  // namespace

const std::vector<MetricRow>& sweep_metrics() {
  static const std::vector<MetricRow> table = {
      {"device_count", "Devices", "", "devices", less, ranked},
      {"tokens_per_s_per_device",
       "Output tokens/s/device",
       "",
       "tok/s/device",
       more,
       ranked_first,
       {},
       [](const Json& s) { return number(s, "output_throughput") / devices_of(s); }},
      {"tokens_per_s_per_mm2",
       "Output tokens/s/mm2 of die",
       "",
       "",
       more,
       ranked,
       {},
       [](const Json& s) { return number(s, "output_throughput") / mm2_of(s); }},
      {"tokens_per_s_per_user",
       "Output tokens/s/user",
       "",
       "tok/s/user",
       more,
       ranked_first,
       {},
       [](const Json& s) { return 1e3 / number(s, "median_tpot_ms"); }},
      {"joules_per_output_token",
       "J/output token",
       "",
       "J/token",
       less,
       ranked,
       {},
       [](const Json& s) { return 1 / number(s, "output_tokens_per_joule"); }},
      {"capacity_rate_per_s", "Capacity", "requests/s", "capacity /s", more, ranked_first},
      {"capacity_rate_scale", "Capacity, of the trace's rate", "", "", more, shown},
      {"capacity_probes", "Runs of the capacity search", "", "", neither, shown},
      {"keeps_up", "Keeps up with the arrivals", "1: yes", "", more, shown},
      {"meets_slo", "Meets the SLO", "1: yes", "", more, first},
      {"given_up_after", "Answers until it was given up", "", "", neither, shown},
      {"pareto", "On the front", "1: yes", "", more, shown},
      {"cheapest", "The cheapest", "1: yes", "", more, shown},
  };
  return table;
}

const std::vector<MetricRow>& training_metrics() {
  static const std::vector<MetricRow> table = {
      {"samples_per_s", "samples/s", "", "samples/s", more, ranked_first},
      {"mean_step_ms", "mean step", "ms", "step ms", less, ranked_first},
      {"p50_step_ms", "median step", "ms", "", less, ranked},
      {"p99_step_ms", "p99 step", "ms", "", less, ranked},
      {"steady_step_ms", "step of the later half", "ms", "", less, ranked_first},
      {"energy_j", "energy", "J", "energy J", less, ranked_first},
      {"dynamic_energy_j", "energy without idling", "J", "", less, ranked},
      {"edp_js", "energy x delay", "J s", "", less, ranked},
      {"cost_dollars", "cost", "$", "", less, ranked},
      {"duration", "duration", "s", "", less, shown},
      {"alone_duration", "duration without others", "s", "", less, shown},
      {"lost_s", "time lost to replicas", "s", "", less, shown},
      {"peak_memory_gb", "peak memory", "GB", "", less, shown},
  };
  return table;
}

}  // namespace weir
