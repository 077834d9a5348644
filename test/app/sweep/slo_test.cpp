// When a percentile of requests is served in time: counted, not interpolated.
#include <catch2/catch.hpp>

#include <algorithm>

#include "sim/app/sweep/search/searches.h"

using namespace weir;

namespace {

// `good` requests of 100 ms to the first token and 10 ms a further one, `late` ones of ten times that, and
// `rejected` ones.
RunResult served(int good, int late, int rejected, int output_tokens = 11) {
  RunResult result;
  for (int i = 0; i < good + late + rejected; ++i) {
    RequestRecord r;
    r.request = {Seconds(i), 100, output_tokens};
    const double slow = i < good ? 1 : 10;
    r.first_token = r.request.arrival + Seconds(0.1 * slow);
    r.finished = r.first_token + Seconds(0.01 * slow * (output_tokens - 1));
    r.status = i < good + late ? RequestStatus::completed : RequestStatus::rejected;
    result.requests.push_back(r);
  }
  return result;
}

SloTarget target(std::int64_t percentile) {
  return {.ttft_ms = 200, .tpot_ms = 20, .percentile = percentile};
}

}  // namespace

TEST_CASE("slo: so many in a hundred may be late, and not one more") {
  CHECK(target(99).met_by(served(99, 1, 0)));
  CHECK_FALSE(target(99).met_by(served(98, 2, 0)));
  CHECK_FALSE(target(99).met_by(served(98, 1, 0)));  // 1 of 99 is more than 1 of 100
  CHECK(target(99).met_by(served(98, 0, 0)));
  CHECK(target(90).met_by(served(9, 1, 0)));  // in doubles, 1 - 90 / 100. < 0.1
  CHECK_FALSE(target(90).met_by(served(8, 1, 0)));
  CHECK(target(95).met_by(served(19, 1, 0)));
  CHECK(target(50).met_by(served(1, 1, 0)));
  CHECK_FALSE(target(50).met_by(served(1, 2, 0)));
}

TEST_CASE("slo: a request that fails is as late as any, out of one quota") {
  CHECK(target(99).met_by(served(99, 0, 1)));
  CHECK(target(99).met_by(served(198, 1, 1)));
  CHECK_FALSE(target(99).met_by(served(197, 1, 1)));
  CHECK_FALSE(target(99).met_by(served(98, 1, 1)));
  CHECK_FALSE(target(50).met_by(served(0, 0, 3)));
  RunResult cut = served(98, 0, 2);
  cut.requests[99].status = RequestStatus::unfinished;
  CHECK_FALSE(target(99).met_by(cut));
}

TEST_CASE("slo: what no request can tell is not met, and warm-up does not count") {
  CHECK_FALSE(target(99).met_by(served(0, 0, 0)));
  CHECK_FALSE(target(99).met_by(served(100, 0, 0, 1)));  // outputs of one token have no TPOT
  SloTarget first_alone = target(99);
  first_alone.tpot_ms.reset();
  CHECK(first_alone.met_by(served(100, 0, 0, 1)));
  RunResult warm = served(95, 5, 0);
  std::reverse(warm.requests.begin(), warm.requests.end());
  CHECK_FALSE(target(99).met_by(warm));
  for (std::size_t i = 0; i < 5; ++i) warm.requests[i].request.measured = false;
  CHECK(target(99).met_by(warm));
}
