#include "sim/app/results/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace weir {
namespace {

double devices_of(const Json& summary) {
  double devices = 0;
  for (const Json& unit : summary.value("devices", Json::array())) devices += unit.value("devices", 0.0);
  return devices;
}

// NaN where the area of one of them is not known.
double mm2_of(const Json& summary) {
  double mm2 = 0;
  for (const Json& unit : summary.value("devices", Json::array())) {
    const Json one = unit.value("die_mm2", Json(nullptr));
    mm2 += unit.value("devices", 0.0) *
           (one.is_number() ? one.get<double>() : std::numeric_limits<double>::quiet_NaN());
  }
  return mm2;
}

double plain(const Json& summary, const std::string& name) {
  for (const auto& [metric, value] : scalar_metrics(summary))
    if (metric == name) return value;
  return std::numeric_limits<double>::quiet_NaN();
}

bool serves(const Json& summary) {
  return summary.contains("output_throughput");
}

struct Derived {
  const char* name;
  double (*of)(const Json& summary);
};
// As sweep/point_run.cpp puts them into the summaries of points; those of runs do without.
constexpr Derived derived[] = {
    {"tokens_per_s_per_device", [](const Json& s) { return plain(s, "output_throughput") / devices_of(s); }},
    {"tokens_per_s_per_mm2", [](const Json& s) { return plain(s, "output_throughput") / mm2_of(s); }},
    {"tokens_per_s_per_user", [](const Json& s) { return 1e3 / plain(s, "median_tpot_ms"); }},
    {"joules_per_output_token", [](const Json& s) { return 1 / plain(s, "output_tokens_per_joule"); }},
};

struct Title {
  const char *name, *title;
};
constexpr Title titles[] = {
    {"duration", "Duration (s)"},
    {"request_throughput", "Requests/s"},
    {"request_goodput", "Goodput (requests/s)"},
    {"output_throughput", "Output tokens/s"},
    {"total_token_throughput", "Tokens/s, in and out"},
    {"tokens_per_s_per_device", "Output tokens/s/device"},
    {"tokens_per_s_per_mm2", "Output tokens/s/mm2 of die"},
    {"tokens_per_s_per_user", "Output tokens/s/user"},
    {"output_tokens_per_joule", "Output tokens/J (tokens/s/W)"},
    {"joules_per_output_token", "J/output token"},
    {"energy_j", "Energy (J)"},
    {"cost_dollars", "Cost ($)"},
    {"cost_dollars_per_hour", "$/hour of all devices"},
    {"cost_dollars_per_million_output_tokens", "$/million output tokens"},
    {"capacity_rate_per_s", "Capacity (requests/s)"},
    {"device_count", "Devices"},
    {"kv_cache_peak", "Peak KV cache use (share)"},
    {"kv_cache_preemptions", "Preemptions"},
    {"speculative_acceptance_length", "Acceptance length (tokens)"},
};
constexpr Title latencies[] = {{"_ttft_ms", "TTFT (ms)"},
                               {"_tpot_ms", "TPOT (ms)"},
                               {"_itl_ms", "ITL (ms)"},
                               {"_e2el_ms", "End to end (ms)"}};

}  // namespace

double metric_of(const Json& summary, const std::string& name) {
  for (const Derived& d : derived)
    if (d.name == name && !summary.contains(name)) return d.of(summary);
  return plain(summary, name);
}

bool trains(const ResultSet& results) {
  return std::ranges::any_of(results.points, [](const PointResult& point) {
    return point.status == "done" && !serves(point.summary) &&
           std::isfinite(plain(point.summary, "training_0_samples_per_s"));
  });
}

std::vector<std::string> metric_names(const ResultSet& results) {
  std::vector<std::string> names;
  for (const PointResult& point : results.points) {
    if (point.status != "done") continue;
    for (const auto& [name, value] : scalar_metrics(point.summary)) names.push_back(name);
    for (const Derived& d : derived)
      if (serves(point.summary) && !point.summary.contains(d.name)) names.emplace_back(d.name);
    break;
  }
  return names;
}

std::string metric_title(const std::string& name) {
  for (const Title& t : titles)
    if (t.name == name) return t.title;
  for (const Title& t : latencies)
    if (name.ends_with(t.name))
      return fmt::format("{} {}", name.substr(0, name.size() - std::string(t.name).size()), t.title);
  std::string title = name;
  std::replace(title.begin(), title.end(), '_', ' ');
  return title;
}

std::string with_dollars(const std::string& name, const std::string& number) {
  return name.find("dollars") != std::string::npos && number != "-" ? "$" + number : number;
}

bool less_is_better(const std::string& name) {
  for (const char* word :
       {"_ms", "duration", "device_count", "energy_j", "edp_js", "joules_per", "dollars", "device_hours",
        "preemptions", "failed", "rejected", "unfinished", "limited_s", "simulated_s"})
    if (name.find(word) != std::string::npos) return true;
  return false;
}

const std::vector<std::string>& ranked_metrics() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"tokens_per_s_per_device",
                                    "tokens_per_s_per_mm2",
                                    "tokens_per_s_per_user",
                                    "output_tokens_per_joule",
                                    "request_throughput",
                                    "request_goodput",
                                    "output_throughput",
                                    "total_token_throughput",
                                    "capacity_rate_per_s",
                                    "cost_dollars_per_million_output_tokens",
                                    "cost_dollars_per_hour",
                                    "joules_per_output_token",
                                    "device_count",
                                    "duration",
                                    "energy_j",
                                    "cost_dollars"};
    for (const char* metric : {"ttft_ms", "tpot_ms", "itl_ms", "e2el_ms"})
      for (const char* statistic : {"mean", "median", "p90", "p95", "p99"})
        all.push_back(fmt::format("{}_{}", statistic, metric));
    for (const char* metric : {"samples_per_s", "mean_step_ms", "p50_step_ms", "p99_step_ms",
                               "steady_step_ms", "energy_j", "dynamic_energy_j", "edp_js", "cost_dollars"})
      all.push_back(fmt::format("training_0_{}", metric));
    return all;
  }();
  return names;
}

std::vector<bool> non_dominated(const std::vector<std::vector<double>>& points) {
  std::vector<std::size_t> order(points.size()), front;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) {
    return std::any_of(points[i].begin(), points[i].end(), [](double v) { return std::isnan(v); });
  });
  // Whatever beats a point comes before it in this order, and if it is no front itself, is beaten by one.
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
  std::vector<bool> best(points.size(), false);
  for (const std::size_t i : order) {
    const auto beats = [&](std::size_t f) {
      return points[f] != points[i] && std::equal(points[f].begin(), points[f].end(), points[i].begin(),
                                                  [](double a, double b) { return a <= b; });
    };
    if (std::any_of(front.begin(), front.end(), beats)) continue;
    front.push_back(i);
    best[i] = true;
  }
  return best;
}

}  // namespace weir
