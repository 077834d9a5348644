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
