#include "sim/serving/record/recorder.h"

#include <catch2/catch.hpp>

using namespace weir;

namespace {

// A run with so many devices whose queue is last heard of then.
void record(std::size_t devices, Seconds period, Seconds end) {
  Recorder recorder({}, period, false);
  for (std::size_t i = 0; i < devices; ++i) recorder.add_device({});
  recorder.queue(Seconds(0), end, 1, 0, 0, false);
}

}  // namespace

TEST_CASE("recorder: samples times columns are bounded, the fewer samples the more devices") {
  for (const std::size_t devices : {std::size_t{1}, std::size_t{498}}) {
    const double most = static_cast<double>(Recorder::most_sampled_values / (4 + 2 * devices));
    const Seconds period(0.5);
    CHECK_NOTHROW(record(devices, period, (most - 0.5) * period));
    try {
      record(devices, period, most * period);
      FAIL("not refused");
    } catch (const ConfigError& e) {
      REQUIRE(e.problems().size() == 1);
      CHECK(e.problems()[0].pointer == "/timeseries_period_s");
      CHECK_THAT(e.problems()[0].what, Catch::Contains("0.5 s is too short"));
    }
  }
}

TEST_CASE("recorder: without a period the samples stay few, however long the run and large the cluster") {
  Recorder recorder({}, {}, false);
  for (int i = 0; i < 1000; ++i) recorder.add_device({});
  for (double at = 0; at < 1e9; at = 2 * at + 1)
    recorder.queue(Seconds(at), Seconds(2 * at + 1), 1, 0, 0, false);
  const RunResult result = recorder.finish(Seconds(1e9));
  CHECK(result.samples.size() > 100);
  CHECK(result.samples.size() <= 400);
}

TEST_CASE("recorder: what lasts over several periods is spread over them evenly") {
  TimeBuckets buckets(Seconds(2), false);
  // 12 over 6 s from 3 s on: 1 s of it in the second period, 2 s in each of the next two, 1 s in the fifth.
  buckets.add(Seconds(3), Seconds(9), 12);
  CHECK(buckets.size() == 5);
  for (const auto& [i, sum] : {std::pair{0u, 0.}, {1u, 2.}, {2u, 4.}, {3u, 4.}, {4u, 2.}, {5u, 0.}})
    CHECK(buckets[i] == Approx(sum).margin(1e-12));
  // Within one period, and of no length, it is all there.
  buckets.add(Seconds(4.5), Seconds(5.5), 7);
  buckets.add(Seconds(9), Seconds(9), 11);
  CHECK(buckets[2] == Approx(11));
  CHECK(buckets[4] == Approx(13));
  CHECK_FALSE(buckets.adaptive());
  CHECK(buckets.period() == Seconds(2));
}

TEST_CASE("recorder: coarser periods are sums of two, an odd last one is alone") {
  TimeBuckets buckets(Seconds(1), true);
  for (int i = 0; i < 7; ++i) buckets.add(Seconds(i + 0.25), Seconds(i + 0.75), 1 << i);
  buckets.coarsen_to(Seconds(2));
  CHECK(buckets.period() == Seconds(2));
  CHECK(buckets.size() == 4);
  for (const auto& [i, sum] : {std::pair{0u, 3.}, {1u, 12.}, {2u, 48.}, {3u, 64.}})
    CHECK(buckets[i] == Approx(sum));
  buckets.coarsen_to(Seconds(7));
  CHECK(buckets.period() == Seconds(8));
  CHECK(buckets.size() == 1);
  CHECK(buckets[0] == Approx(127));
  // 400 periods are too many: they double before the one that would be number 400.
  TimeBuckets many(Seconds(1), true);
  many.add(Seconds(0), Seconds(399.5), 1);
  CHECK((many.period() == Seconds(1) && many.size() == 400));
  many.add(Seconds(399.5), Seconds(400), 1);
  CHECK((many.period() == Seconds(2) && many.size() == 201));
}
