#include "sim/app/output/metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

namespace weir {
namespace {

// numpy's default, "linear": between the order statistics around (n - 1) p / 100. `from` is how far the
// values are already sorted out by a smaller percentile.
double percentile_beyond(std::vector<double>& values, double p, std::size_t& from) {
  const double at = static_cast<double>(values.size() - 1) * p / 100;
  const auto below = static_cast<std::size_t>(at);
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin() + static_cast<std::ptrdiff_t>(from), nth, values.end());
  from = below;
  if (below + 1 == values.size()) return *nth;
  return std::lerp(*nth, *std::min_element(nth + 1, values.end()), at - std::floor(at));
}

Distribution nothing() {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  return {0, nan, nan, nan, nan, nan, nan, nan};
}

Distribution distribution_of_gaps(const GapHistogram& gaps) {
  if (gaps.count() == 0) return nothing();
  const auto ms = [&](Seconds s) { return s.value() * 1e3; };
  return {.count = std::llround(gaps.count()),
          .mean = ms(gaps.mean()),
          .median = ms(gaps.percentile(50)),
          .std = ms(gaps.standard_deviation()),
          .p50 = ms(gaps.percentile(50)),
          .p90 = ms(gaps.percentile(90)),
          .p95 = ms(gaps.percentile(95)),
          .p99 = ms(gaps.percentile(99))};
}

using Records = std::vector<const RequestRecord*>;

Records measured(const RunResult& result) {
  Records records;
  for (const RequestRecord& record : result.requests)
    if (is_measured(record)) records.push_back(&record);
  return records;
}

// Fills `values` with one number a completed request, where it is defined.
template <class Value>
Distribution over_completed(const Records& records, std::vector<double>& values, Value value) {
  values.clear();
  for (const RequestRecord* record : records) {
    if (record->status != RequestStatus::completed) continue;
    if (const std::optional<Seconds> time = value(*record)) values.push_back(time->value() * 1e3);
  }
  return distribution_of(values);
}

std::optional<Seconds> ttft(const RequestRecord& record) {
  return time_to_first_token(record);
}

std::vector<ClassMetrics> by_class(const Records& records, std::vector<double>& values) {
  const auto priority_of = [](const RequestRecord* record) { return record->request.priority; };
  if (std::ranges::adjacent_find(records, std::ranges::not_equal_to(), priority_of) == records.end())
    return {};
  std::map<std::int32_t, Records> classes;
  for (const RequestRecord* record : records) classes[priority_of(record)].push_back(record);
  const auto status_of = [](const RequestRecord* record) { return record->status; };
  std::vector<ClassMetrics> metrics;
  for (const auto& [priority, members] : classes)
    metrics.push_back({priority, std::ranges::count(members, RequestStatus::completed, status_of),
                       over_completed(members, values, ttft),
                       over_completed(members, values, time_per_output_token)});
  return metrics;
}

// A session of which a request is left out has no time of its own.
std::optional<SessionMetrics> over_sessions(const RunResult& result) {
  if (!result.sessions) return {};
  struct Span {
    Seconds begin{std::numeric_limits<double>::infinity()}, end{0};
    bool whole = true, completed = true;
  };
  std::vector<Span> spans(static_cast<std::size_t>(result.sessions->count()));
  for (std::size_t i = 0; i < result.requests.size(); ++i) {
    const RequestRecord& record = result.requests[i];
    Span& span = spans[static_cast<std::size_t>(result.sessions->of(static_cast<std::int32_t>(i)))];
    span.whole &= is_measured(record);
    span.completed &= record.status == RequestStatus::completed;
    span.begin = std::min(span.begin, record.request.arrival);
    span.end = std::max(span.end, record.finished);
  }
  SessionMetrics sessions;
  std::vector<double> values;
  for (const Span& span : spans) {
    sessions.count += span.whole;
    if (span.whole && span.completed) values.push_back((span.end - span.begin).value() * 1e3);
  }
  sessions.time_to_complete_ms = distribution_of(values);
  return sessions;
}

bool meets(const RequestRecord& record, const Slo& slo) {
  // vLLM takes the TPOT of a request of one token as 0 here, and only here.
  return (!slo.ttft || time_to_first_token(record) <= *slo.ttft) &&
         (!slo.tpot || time_per_output_token(record).value_or(Seconds(0)) <= *slo.tpot);
}

double per_second(double amount, Seconds duration) {
  return duration.value() > 0 ? amount / duration.value() : 0;
}

}  // namespace

Seconds time_to_first_token(const RequestRecord& record) {
  return record.first_token - record.request.arrival;
}
Seconds end_to_end(const RequestRecord& record) {
  return record.finished - record.request.arrival;
}

std::optional<Seconds> time_per_output_token(const RequestRecord& record) {
  if (record.request.output_tokens < 2) return {};
  return (record.finished - record.first_token) / static_cast<double>(record.request.output_tokens - 1);
}

double percentile(std::vector<double>& values, double p) {
  std::size_t from = 0;
  return percentile_beyond(values, p, from);
}

Distribution distribution_of(std::vector<double>& values) {
  if (values.empty()) return nothing();
  Distribution d;
  d.count = std::ssize(values);
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double v : values) sum += v;
  d.mean = sum / n;
  for (const double v : values) squares += (v - d.mean) * (v - d.mean);
  d.std = std::sqrt(squares / n);
  std::size_t from = 0;
  d.median = d.p50 = percentile_beyond(values, 50, from);
  d.p90 = percentile_beyond(values, 90, from);
  d.p95 = percentile_beyond(values, 95, from);
  d.p99 = percentile_beyond(values, 99, from);
  return d;
}

std::int64_t Metrics::computed_tokens() const {
  return std::accumulate(tier_tokens.begin(), tier_tokens.end(), input_tokens - found_tokens, std::minus<>());
}

Metrics measure(const RunResult& result, const Slo& slo) {
  Metrics m;
  m.tier_tokens.resize(result.kv_tiers);
  std::int64_t good = 0;
  const Records records = measured(result);
  for (const RequestRecord* of : records) {
    const RequestRecord& record = *of;
    ++m.requests;
    m.rejected += record.status == RequestStatus::rejected;
    m.lost += record.status == RequestStatus::lost;
    m.unfinished += record.status == RequestStatus::unfinished;
    if (record.status != RequestStatus::completed) continue;
    ++m.completed;
    m.input_tokens += record.request.input_tokens;
    m.output_tokens += record.request.output_tokens;
    m.found_tokens += record.found_tokens;
    const auto name = static_cast<std::int32_t>(&record - result.requests.data());
    if (const auto loaded = result.tier_tokens.find(name); loaded != result.tier_tokens.end())
      for (std::size_t tier = 0; tier < loaded->second.size(); ++tier)
        m.tier_tokens[tier] += loaded->second[tier];
    good += meets(record, slo);
  }
  m.duration = result.end - result.start;
  m.request_throughput = per_second(static_cast<double>(m.completed), m.duration);
  m.output_throughput = per_second(static_cast<double>(m.output_tokens), m.duration);
  m.total_throughput = per_second(static_cast<double>(m.input_tokens + m.output_tokens), m.duration);
  if (slo.ttft || slo.tpot) m.goodput = per_second(static_cast<double>(good), m.duration);

  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(m.completed));
  m.ttft_ms = over_completed(records, values, ttft);
  m.tpot_ms = over_completed(records, values, time_per_output_token);
  m.e2el_ms = over_completed(records, values, [](const auto& r) { return std::optional(end_to_end(r)); });
  m.classes = by_class(records, values);
  m.sessions = over_sessions(result);
  m.itl_ms = distribution_of_gaps(result.gaps);

  for (const DeviceUsage& usage : result.devices) {
    m.energy += usage.energy;
    if (m.energy_note.empty()) m.energy_note = usage.energy_note;
    m.cost_dollars += usage.cost_dollars;
    m.dollars_per_hour += usage.dollars_per_hour;
    m.device_hours += usage.devices * m.duration.value() / 3600;
  }
  return m;
}

}  // namespace weir
