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
  double periods = to / period_;
  for (; adaptive_ && periods >= most_buckets; periods = to / period_) halve();
  const auto last = static_cast<std::size_t>(periods);
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
    : sent_on_answers_(workload.closed_loop || workload.sessions || workload.max_in_flight),
      measured_(workload.requests.size(), 1),
      order_(workload.sessions ? workload.requests.size() : 0),
      reply_(workload.closed_loop ? workload.closed_loop->round_trip / 2 : Seconds(0)),
      running_(sample_period.value_or(first_period), !sample_period),
      waiting_(running_),
      blocks_(running_),
      tokens_(running_) {
  result_.requests.resize(workload.requests.size());
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    Request& request = result_.requests[i].request = workload.requests[i];
    if (sent_on_answers_) request.arrival = Seconds(-1);
    if (!request.measured) leave_out(static_cast<std::int32_t>(i));
  }
  result_.warmup_requests = workload.warmup_requests;
  result_.sessions = workload.sessions;
  result_.notes = workload.notes;
  if (spans) request_tracks_.emplace(result_);
}

std::size_t Recorder::add_device(DeviceUsage usage) {
  result_.devices.push_back(std::move(usage));
  devices_.push_back({{}, running_, running_});
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
  const std::size_t series = 4 + 2 * devices_.size() + flow_bytes_.size();
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

void Recorder::add_used(std::size_t device, WorkingSet& uses) const {
  uses.add(devices_[device]);
  devices_[device].busy.add_used(uses);
}

void Recorder::busy(std::size_t device, Seconds from, Seconds to, const StepCost& cost) {
  check_period(to);
  Device& record = devices_[device];
  if (const double share = counted(from, to); share == 1)
    record.done += cost;
  else
    record.done += share * cost;
  record.busy.add(from, to, cost.time.value());
  if (const Bytes sent = cost.moved[interconnect]; sent > Bytes(0))
    record.link_bytes.add(from, to, sent.value());
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

void Recorder::found_in_tiers(std::int32_t request, std::span<const TierTokens> tokens) {
  for (const auto& [tier, count] : tokens) {
    std::vector<std::int64_t>& found = result_.tier_tokens[request];
    found.resize(std::max(found.size(), tier + 1));
    found[tier] += count;
  }
}

void Recorder::leave_out(std::int32_t request) {
  record(request).request.measured = false;
  std::uint8_t& measured = measured_[static_cast<std::size_t>(request)];
  unmeasured_ += measured;
  measured = 0;
}

void Recorder::sent(std::int32_t request, Seconds now) {
  const std::int32_t number = sent_++;
  if (sent_on_answers_) record(request).request.arrival = now;
  if (!order_.empty()) order_[static_cast<std::size_t>(request)] = number;
  if (number < result_.warmup_requests) leave_out(request);
  if (!start_ && kept(request)) start_ = now;
}

void Recorder::sum_up() {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const StepCost& done = devices_[d].done;
    DeviceUsage& usage = result_.devices[d];
    usage.busy = done.time;
    usage.compute_bound = done.compute_bound;
    usage.memory_bound = done.memory_bound;
    usage.link_bound = done.link_bound;
    usage.host_bound = done.host_bound;
    usage.flops = done.flops;
    usage.memory = done.moved[own_memory];
    usage.link = done.moved[interconnect];
    usage.prefetch = done.prefetch;
    usage.energy = usage.devices * done.energy;
    for (UnitUsage& unit : usage.units) unit.busy = done.busy[unit.index];
  }
}

void Recorder::sample() {
  std::vector<TimeBuckets*> all = {&running_, &waiting_, &blocks_, &tokens_};
  for (Device& device : devices_) all.insert(all.end(), {&device.busy, &device.link_bytes});
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
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      s.device_utilisation.push_back(devices_[d].busy[i] / dt);
      const double link = result_.devices[d].link_bandwidth.value();
      s.link_utilisation.push_back(link > 0 ? devices_[d].link_bytes[i] / dt / link : 0);
    }
    for (std::size_t l = 0; l < flow_bytes_.size(); ++l)
      s.flow_utilisation.push_back(flow_bytes_[l][i] / dt / result_.links[l].bandwidth.value());
    result_.samples.push_back(std::move(s));
  }
}

RunResult Recorder::finish(Seconds now) {
  // A warm-up that the run did not get through: in sessions nobody knows who would have been in it.
  for (; order_.empty() && sent_ < result_.warmup_requests; ++sent_) leave_out(sent_);
  result_.start = start_.value_or(now);
  result_.end = std::max(now, result_.start);  // where all were rejected nothing has an end
  if (request_tracks_) request_tracks_->end(result_.end);
  sum_up();
  sample();
  return std::move(result_);
}

}  // namespace weir
