#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <random>

#include "sim/app/output/metrics.h"

using namespace weir;

namespace {

RequestRecord completed(double arrival, double first, double finished, std::int64_t input,
                        std::int64_t output) {
  RequestRecord r;
  r.request = {Seconds(arrival), input, output};
  r.scheduled = r.first_token = Seconds(first);
  r.finished = Seconds(finished);
  r.status = RequestStatus::completed;
  return r;
}

RequestRecord rejected(double arrival) {
  RequestRecord r;
  r.request = {Seconds(arrival), 1000000, 1};
  r.status = RequestStatus::rejected;
  return r;
}

}  // namespace

TEST_CASE("metrics: percentiles are numpy's linear interpolation") {
  // numpy 1.24: np.percentile([15, 20, 35, 40, 50], [0, 5, 40, 50, 90, 95, 99, 100])
  const std::pair<double, double> expected[] = {{0, 15},  {5, 16},  {40, 29},   {50, 35},
                                                {90, 46}, {95, 48}, {99, 49.6}, {100, 50}};
  for (const auto& [p, value] : expected) {
    std::vector<double> values = {40, 15, 50, 35, 20};
    INFO(p);
    CHECK(percentile(values, p) == Approx(value).epsilon(1e-14));
  }
}

TEST_CASE("metrics: mean, population deviation and percentiles of a small set are those worked out by hand") {
  std::vector<double> values = {4, 1, 3, 2};
  const Distribution d = distribution_of(values);
  CHECK(d.count == 4);
  CHECK(d.mean == 2.5);
  CHECK(d.median == 2.5);
  CHECK(d.std == Approx(std::sqrt(1.25)));  // np.std, not the sample's 1.29
  CHECK(d.p50 == 2.5);
  CHECK(d.p90 == Approx(3.7));
  CHECK(d.p95 == Approx(3.85));
  CHECK(d.p99 == Approx(3.97));
}

TEST_CASE("metrics: percentiles of random values equal interpolation in the sorted values") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> values(1 + random() % 300);
    for (double& v : values) v = std::floor(std::exponential_distribution<>()(random) * 40) / 8;  // with ties
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const auto oracle = [&](double p) {
      const double at = p / 100 * static_cast<double>(sorted.size() - 1);
      const auto below = static_cast<std::size_t>(at);
      const double next = sorted[std::min(below + 1, sorted.size() - 1)];
      return sorted[below] + (at - std::floor(at)) * (next - sorted[below]);
    };
    const Distribution d = distribution_of(values);
    CHECK(d.p50 == Approx(oracle(50)));
    CHECK(d.p90 == Approx(oracle(90)));
    CHECK(d.p95 == Approx(oracle(95)));
    CHECK(d.p99 == Approx(oracle(99)));
    CHECK(std::is_permutation(values.begin(), values.end(), sorted.begin()));
  }
}

TEST_CASE("metrics: nothing has no mean, rather than a mean of 0") {
  std::vector<double> values;
  const Distribution d = distribution_of(values);
  CHECK(d.count == 0);
  CHECK(std::isnan(d.mean));
  CHECK(std::isnan(d.p99));
}

TEST_CASE("metrics: latencies and throughput of three requests are those worked out by hand") {
  RunResult result;
  result.requests = {completed(1, 1.5, 3.5, 100, 5), completed(2, 2.25, 2.25, 10, 1), rejected(2.5)};
  result.start = Seconds(1);
  result.end = Seconds(3.5);
  result.devices.resize(2);
  result.devices[0].energy = Joules(30);
  result.devices[0].devices = 4;
  result.devices[0].cost_dollars = 0.5;
  result.devices[0].dollars_per_hour = 8;
  result.devices[1].energy = Joules(12);
  result.devices[1].cost_dollars = 0.25;
  result.devices[1].dollars_per_hour = 3;
  const Metrics m = measure(result, {});
  CHECK(m.requests == 3);
  CHECK(m.completed == 2);
  CHECK(m.rejected == 1);
  CHECK(m.input_tokens == 110);  // of the completed requests alone, as vLLM counts
  CHECK(m.output_tokens == 6);
  CHECK(m.duration.value() == 2.5);
  CHECK(m.request_throughput == Approx(0.8));
  CHECK(m.output_throughput == Approx(2.4));
  CHECK(m.total_throughput == Approx(46.4));
  CHECK_FALSE(m.goodput);
  CHECK(m.ttft_ms.mean == Approx(375));
  CHECK(m.tpot_ms.count == 1);  // a single token has no time per output token
  CHECK(m.tpot_ms.mean == Approx(500));
  CHECK(m.e2el_ms.mean == Approx(1375));
  CHECK(m.energy.value() == 42);
  CHECK(m.cost_dollars == 0.75);
  CHECK(m.dollars_per_hour == 11);
  CHECK(m.device_hours == Approx(5 * 2.5 / 3600));
}

TEST_CASE("metrics: warm-up requests are in no metric") {
  RunResult result;
  result.requests = {completed(0, 100, 200, 1000, 1000), completed(5, 6, 8, 10, 3),
                     completed(6, 7, 9, 10, 3)};
  result.warmup_requests = 1;
  result.requests[0].request.measured = false;
  result.start = Seconds(5);
  result.end = Seconds(9);
  const Metrics m = measure(result, {});
  CHECK(m.requests == 2);
  CHECK(m.completed == 2);
  CHECK(m.output_tokens == 6);
  CHECK(m.ttft_ms.mean == Approx(1000));
  CHECK(m.tpot_ms.mean == Approx(1000));
  CHECK(m.request_throughput == Approx(0.5));
}

TEST_CASE("metrics: goodput counts the requests that meet every limit given, exactly at the limit included") {
  RunResult result;
  result.requests = {completed(0, 0.5, 1.5, 1, 11), completed(0, 0.5, 1.75, 1, 11),
                     completed(0, 0.625, 1.625, 1, 11), completed(0, 0.5, 0.5, 1, 1)};
  result.end = Seconds(2);
  CHECK(measure(result, {.ttft = Seconds(0.5), .tpot = {}}).goodput == Approx(1.5));
  CHECK(measure(result, {.ttft = {}, .tpot = Seconds(0.1)}).goodput == Approx(1.5));
  CHECK(measure(result, {.ttft = Seconds(0.5), .tpot = Seconds(0.1)}).goodput == Approx(1.0));
}

TEST_CASE("metrics: of several priorities, times of each, the most urgent first") {
  RunResult result;
  result.requests = {completed(0, 9, 9, 1, 2), completed(0, 1, 3, 1, 3), completed(0, 3, 3, 1, 1),
                     completed(0, 5, 5, 1, 1), rejected(0)};
  result.requests[0].request.measured = false;
  for (RequestRecord& record : result.requests) record.request.priority = 2;
  CHECK(measure(result, {}).classes.empty());
  result.requests[3].request.priority = result.requests[4].request.priority = -1;
  const std::vector<ClassMetrics> classes = measure(result, {}).classes;
  REQUIRE(classes.size() == 2);
  CHECK((classes[0].priority == -1 && classes[0].completed == 1));
  CHECK(classes[0].ttft_ms.mean == 5000);
  CHECK(classes[0].tpot_ms.count == 0);
  CHECK((classes[1].priority == 2 && classes[1].completed == 2));
  CHECK(classes[1].ttft_ms.median == 2000);
  CHECK(classes[1].tpot_ms.mean == 1000);
}

TEST_CASE("metrics: a session is complete when all of its requests are, and has a time if all are measured") {
  Turns turns;
  turns.names = {"a"};
  for (int i = 0; i < 7; ++i) turns.add(0, i, Seconds(0));
  turns.awaits = {{1, 0}, {2, 0}, {4, 3}, {6, 5}};  // sessions of 0, 1 and 2; 3 and 4; 5 and 6
  RunResult result;
  result.sessions = std::make_shared<const Sessions>(turns);
  result.requests = {
      completed(1, 2, 3, 1, 1), completed(4, 5, 9, 1, 2), completed(5, 6, 8, 1, 2), rejected(2), rejected(2),
      completed(0, 1, 2, 1, 1), completed(2, 3, 4, 1, 1)};
  result.requests[5].request.measured = false;
  result.end = Seconds(9);
  const Metrics m = measure(result, {});
  CHECK(m.completed == 4);
  REQUIRE(m.sessions);
  CHECK(m.sessions->count == 2);
  CHECK(m.sessions->time_to_complete_ms.count == 1);
  CHECK(m.sessions->time_to_complete_ms.p99 == 8000);
}
