#include "sim/app/output/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir {
namespace {

struct StepTime {
  const char* by;
  Seconds DeviceUsage::*part;
};
constexpr std::array<StepTime, 4> step_times = {{
    {"compute", &DeviceUsage::compute_bound},
    {"memory", &DeviceUsage::memory_bound},
    {"links", &DeviceUsage::link_bound},
    {"host", &DeviceUsage::host_bound},
}};

struct Shares {
  std::array<double, step_times.size()> of_steps{};  // of the devices' step time
  double busy = 0;                                   // step time over the run's duration

  std::size_t largest() const {
    return static_cast<std::size_t>(std::max_element(of_steps.begin(), of_steps.end()) - of_steps.begin());
  }
};

Shares shares(const RunResult& result, Seconds duration) {
  Shares s;
  double steps = 0, devices = 0;
  for (const DeviceUsage& usage : result.devices) {
    devices += usage.devices;
    for (std::size_t i = 0; i < step_times.size(); ++i) {
      const double part = usage.devices * (usage.*step_times[i].part).value();
      s.of_steps[i] += part;
      steps += part;
    }
  }
  if (steps > 0)
    for (double& share : s.of_steps) share /= steps;
  if (devices > 0 && duration.value() > 0) s.busy = steps / (devices * duration.value());
  return s;
}

struct Load {
  double waiting = 0;  // share of the requests' time spent before their first step
  double span = 0;     // of the run's duration in which requests still arrived
};

Load load(const RunResult& result, Seconds duration) {
  Load l;
  Seconds queued, whole, last = result.start;
  for (const RequestRecord& r : result.requests) {
    if (!is_measured(r)) continue;
    last = std::max(last, r.request.arrival);
    if (r.status != RequestStatus::completed) continue;
    queued += r.scheduled - r.request.arrival;
    whole += end_to_end(r);
  }
  if (whole.value() > 0) l.waiting = queued / whole;
  if (duration.value() > 0) l.span = (last - result.start) / duration;
  return l;
}

// Share of the run in which a request waited for KV blocks.
double kv_limited(const Scenario& scenario, const RunResult& result, Seconds duration) {
  double replicas = 0;
  for (const ReplicaSpec& spec : scenario.replicas) replicas += spec.count;
  return replicas > 0 && duration.value() > 0 ? result.kv_limited.value() / (replicas * duration.value()) : 0;
}

}  // namespace

Bottleneck find_bottleneck(const Scenario& scenario, const RunResult& result, const Metrics& metrics) {
  if (metrics.completed == 0) return {"nothing", "no request completed"};
  if (metrics.rejected > metrics.completed)
    return {"KV capacity",
            fmt::format("{} requests can never fit, {} completed", metrics.rejected, metrics.completed)};
  const Shares s = shares(result, metrics.duration);
  const Load l = load(result, metrics.duration);
  const std::size_t largest = s.largest();
  const char* by = step_times[largest].by;
  const double busy = 100 * s.busy, share = 100 * s.of_steps[largest];

  // The system keeps up when requests hardly queue and the run does not go on long after the last of them
  // came.
  const Workload& workload = scenario.workload;
  // Requests that a client's bound held back did not queue at a server.
  const bool bounded = workload.max_in_flight && result.held_at_client;
  const bool keeps_up =
      !workload.closed_loop && !bounded && !workload.sessions_at_a_time && l.waiting < 0.1 && l.span > 0.5;
  if (keeps_up)
    return {
        "arrivals",
        fmt::format(
            "requests queue {:.1f} % of their time; devices are in steps {:.0f} % of the run, {:.0f} % of it "
            "for {}",
            100 * l.waiting, busy, share, by)};
  const double limited = kv_limited(scenario, result, metrics.duration);
  if (limited > 0.5)
    return {"KV capacity",
            fmt::format("requests waited for blocks {:.0f} % of the run (peak {} of {}, {} preemptions)",
                        100 * limited, result.kv_blocks_peak, result.kv_blocks_total, result.preemptions)};
  return {
      by,
      fmt::format(
          "{:.0f} % of step time (compute {:.0f}, memory {:.0f}, links {:.0f}, host {:.0f} %); devices are "
          "in steps {:.0f} % of the run",
          share, 100 * s.of_steps[0], 100 * s.of_steps[1], 100 * s.of_steps[2], 100 * s.of_steps[3], busy)};
}

}  // namespace weir
