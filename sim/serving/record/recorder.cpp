#include "sim/serving/record/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/errors.h"

namespace weir {
namespace {

constexpr std::size_t most_buckets = 400;  // of an adaptive series: 200 to 400 samples a run
const Seconds first_period(1e-3);

}  // namespace

void TimeBuckets::halve() {
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (i % 2 == 0)
      sums_[i / 2] = sums_[i];
    else
      sums_[i / 2] += sums_[i];
  }
  sums_.resize((sums_.size() + 1) / 2);
  period_ = 2 * period_;
}

void TimeBuckets::coarsen_to(Seconds period) {
  while (period_ < period) halve();
}

void TimeBuckets::add(Seconds from, Seconds to, double integral) {
  while (adaptive_ && to / period_ >= most_buckets) halve();
  const auto last = static_cast<std::size_t>(to / period_);
  if (last >= sums_.size()) sums_.resize(last + 1, 0.0);
  const auto first = static_cast<std::size_t>(from / period_);
  if (first == last || to <= from) {
    sums_[last] += integral;
    return;
  }
  const double per_second = integral / (to - from).value();
  for (std::size_t i = first; i <= last; ++i) {
    const Seconds begin = std::max(from, static_cast<double>(i) * period_);
    const Seconds end = std::min(to, static_cast<double>(i + 1) * period_);
    sums_[i] += per_second * (end - begin).value();
  }
}

Recorder::Recorder(const Workload& workload, std::optional<Seconds> sample_period, bool spans)
    : warmup_(static_cast<std::int32_t>(workload.warmup_requests)),
      running_(sample_period.value_or(first_period), !sample_period),
      waiting_(running_),
      blocks_(running_),
      tokens_(running_) {
  result_.requests.resize(workload.requests.size());
  for (std::size_t i = 0; i < workload.requests.size(); ++i)
    result_.requests[i].request = workload.requests[i];
  result_.warmup_requests = workload.warmup_requests;
  result_.notes = workload.notes;
  if (warmup_ == 0) start_ = Seconds(0);
  if (spans) request_tracks_.emplace(result_);
}

std::size_t Recorder::add_device(DeviceUsage usage) {
  result_.devices.push_back(std::move(usage));
  device_busy_.emplace_back(running_);
  link_bytes_.emplace_back(running_);
  return result_.devices.size() - 1;
}

std::size_t Recorder::add_link(LinkUsage usage) {
  result_.links.push_back(std::move(usage));
  flow_bytes_.emplace_back(running_.period(), running_.adaptive());
  return result_.links.size() - 1;
}

std::int32_t Recorder::add_track(std::string name) {
  result_.tracks.push_back(std::move(name));
  return static_cast<std::int32_t>(result_.tracks.size()) - 1;
}

double Recorder::counted(Seconds from, Seconds to) const {
  if (!start_) return 0;
  if (from >= *start_) return 1;
  return to <= *start_ ? 0 : (to - *start_) / (to - from);
}

std::size_t Recorder::most_samples() const {
  const std::size_t series = 4 + device_busy_.size() + link_bytes_.size() + flow_bytes_.size();
  return most_sampled_values / series;
}

// No period can be told to be too short before the run is long; an adaptive one never is.
void Recorder::check_period(Seconds to) const {
  if (running_.adaptive() || to / running_.period() < static_cast<double>(most_samples())) return;
  throw ConfigError("", "/timeseries_period_s",
                    fmt::format("{} s is too short for a run this long and its cluster: expected at most {} "
                                "samples of all their columns",
                                running_.period().value(), most_samples()));
}

void Recorder::queue(Seconds from, Seconds to, std::int64_t running, std::int64_t waiting, double mean_blocks,
                     bool kv_limited) {
  const double dt = (to - from).value();
  if (dt <= 0) return;
  check_period(to);
  running_.add(from, to, static_cast<double>(running) * dt);
  waiting_.add(from, to, static_cast<double>(waiting) * dt);
  blocks_.add(from, to, mean_blocks * dt);
  if (kv_limited) result_.kv_limited += counted(from, to) * (to - from);
}

void Recorder::tokens(Seconds from, Seconds to, double count) {
  check_period(to);
  generated_ += count;
  tokens_.add(from, to, count);
}

void Recorder::busy(std::size_t device, Seconds from, Seconds to, const StepCost& cost) {
  check_period(to);
  DeviceUsage& usage = result_.devices[device];
  const StepCost share = counted(from, to) * cost;
  usage.busy += share.time;
  usage.compute_bound += share.compute_bound;
  usage.memory_bound += share.memory_bound;
  usage.link_bound += share.link_bound;
  usage.host_bound += share.host_bound;
  usage.flops += share.flops;
  usage.memory += share.moved[own_memory];
  usage.link += share.moved[interconnect];
  usage.prefetch += share.prefetch;
  usage.energy += usage.devices * share.energy;
  for (UnitUsage& unit : usage.units) unit.busy += share.busy[unit.index];
  device_busy_[device].add(from, to, cost.time.value());
  link_bytes_[device].add(from, to, cost.moved[interconnect].value());
}

void Recorder::carried(std::size_t link, Seconds from, Seconds to, Bytes bytes) {
  check_period(to);
  result_.links[link].carried += counted(from, to) * bytes;
  flow_bytes_[link].add(from, to, bytes.value());
}

void Recorder::span(Span span) {
  if (!wants_spans()) return;
  if (result_.spans.size() < most_spans)
    result_.spans.push_back(std::move(span));
  else
    ++result_.spans_left_out;
}

void Recorder::token_gap(std::int32_t request, double seconds) {
  std::vector<double>& gaps = result_.token_gaps[static_cast<std::size_t>(request)];
  if (gaps.empty()) gaps.reserve(static_cast<std::size_t>(record(request).request.output_tokens));
  gaps.push_back(seconds);
}

void Recorder::measure_from(Seconds start) {
  start_ = start;
}

void Recorder::sample() {
  std::vector<TimeBuckets*> all = {&running_, &waiting_, &blocks_, &tokens_};
  for (auto& series : device_busy_) all.push_back(&series);
  for (auto& series : link_bytes_) all.push_back(&series);
  for (auto& series : flow_bytes_) all.push_back(&series);
  Seconds period(0);
  std::size_t periods = 0;
  for (const TimeBuckets* series : all) period = std::max(period, series->period());
  for (TimeBuckets* series : all) {
    series->coarsen_to(period);
    periods = std::max(periods, series->size());
  }
  for (std::size_t i = 0; i < periods; ++i) {
    const Seconds begin = static_cast<double>(i) * period;
    const Seconds end = std::min(begin + period, result_.end);
    const double dt = (end - begin).value();
    if (dt <= 0) break;
    Sample s{.time = end,
             .running = running_[i] / dt,
             .waiting = waiting_[i] / dt,
             .kv_blocks = blocks_[i] / dt,
             .tokens_per_s = tokens_[i] / dt,
             .device_utilisation = {},
             .link_utilisation = {},
             .flow_utilisation = {}};
    for (std::size_t d = 0; d < device_busy_.size(); ++d) {
      s.device_utilisation.push_back(device_busy_[d][i] / dt);
      const double link = result_.devices[d].link_bandwidth.value();
      s.link_utilisation.push_back(link > 0 ? link_bytes_[d][i] / dt / link : 0);
    }
    for (std::size_t l = 0; l < flow_bytes_.size(); ++l)
      s.flow_utilisation.push_back(flow_bytes_[l][i] / dt / result_.links[l].bandwidth.value());
    result_.samples.push_back(std::move(s));
  }
}

RunResult Recorder::finish(Seconds now) {
  result_.start = start_.value_or(now);
  result_.end = std::max(now, result_.start);  // where all were rejected nothing has an end
  if (request_tracks_) request_tracks_->end(result_.end);
  sample();
  return std::move(result_);
}

}  // namespace weir
