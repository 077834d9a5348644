#include "sim/app/sweep/search/offered_load.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/plan/plan.h"

namespace weir {
namespace {

// Gaps of the trace as it was logged: one fewer than requests. Those that wait for others have none.
double rate_of_trace(const Json& scenario, const std::string& file, double scale) {
  const Workload workload = read_plan(scenario, file).scenario.workload;
  std::vector<Seconds> arrivals;
  for (std::size_t i = 0; i < workload.requests.size(); ++i)
    if (!workload.sessions || !workload.sessions->waits(static_cast<std::int32_t>(i)))
      arrivals.push_back(workload.requests[i].arrival);
  const auto [first, last] = std::ranges::minmax(arrivals);
  const double span_s = (last - first).value() * scale;
  if (!(span_s > 0))
    throw ConfigError(file, "", "the trace's requests all arrive at once: it has no rate to scale");
  return static_cast<double>(arrivals.size() - 1) / span_s;
}

}  // namespace

OfferedLoad::OfferedLoad(const Json& scenario, const std::string& file) {
  const Json& arrivals = scenario.at("workload").at("arrivals");
  const std::string kind = arrivals.at("kind");
  if (kind == "trace") {
    key_ = "rate_scale";
    scale_ = arrivals.value("rate_scale", 1.0);
    traced_per_s_ = rate_of_trace(scenario, file, scale_);
  } else if (kind == "poisson" || kind == "gamma" || kind == "constant") {
    scale_ = arrivals.at("rate_per_s");
  } else {
    throw ConfigError(
        file, "", fmt::format("needs arrivals with a rate (poisson, gamma, constant, trace), got {}", kind));
  }
}

void OfferedLoad::set(Json& scenario, double rate_per_s) const {
  scenario["workload"]["arrivals"][key_] = scale_of(rate_per_s);
  for (const char* key : {"simulated_time_limit_s", "timeseries_period_s"})
    if (const auto length = scenario.find(key);
        length != scenario.end() && length->is_number() && rate_per_s < this->rate_per_s())
      *length = length->get<double>() * this->rate_per_s() / rate_per_s;
}

}  // namespace weir
