// Values that are of the right type and mean nothing: told, at their pointers.
#include <catch2/catch.hpp>

#include "sim/core/params.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

Ended checked_with(const std::string& pointer, const Json& value) {
  const ScratchDirectory scratch;
  Json scenario = read_json_file(shipped("quickstart.json"));
  scenario[Json::json_pointer(pointer)] = value;
  return run_command({"check", write(scratch / "s.json", scenario.dump())});
}

}  // namespace

TEST_CASE("scenario: factors and times of a speed_profile have bounds") {
  const std::string at = "/cluster/nodes/0/devices/0/speed_profile";
  for (const Json& wrong : {Json({{0, 1e-300}}), Json({{0, 9e-4}}), Json({{0, 1001}}), Json({{0, 0}}),
                            Json({{0, -1}}), Json({{1e300, 1}}), Json({{1.1e9, 1}})}) {
    const Ended ended = checked_with(at, wrong);
    INFO(wrong.dump() << ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err,
               Catch::Contains(at + "/0: expected [time_s, a factor between 0.001 and 1000] with a time "
                                    "from 0 to 1e+09"));
  }
  for (const Json& right : {Json({{0, 1e-3}}), Json({{0, 1000}}), Json({{1e9, 1}})})
    CHECK(checked_with(at, right).code == 0);
}

TEST_CASE("scenario: multiprocessors are whole") {
  const std::string at = "/cluster/nodes/0/devices/0/streaming_multiprocessors";
  const Ended half = checked_with(at, 132.5);
  CHECK(half.code == 2);
  CHECK_THAT(half.err, Catch::Contains(at + ": expected a whole number, got 132.5"));
  CHECK(checked_with(at, 0.5).code == 2);
  CHECK(checked_with(at, 132.0).code == 0);
  CHECK(checked_with(at, 133).code == 0);
}

TEST_CASE("scenario: a summary is shorter than what it is made above") {
  const auto sessions = [](int above, int summary) {
    Json requests = read_json_file(shipped("kv_reuse/agents.json"))["workload"]["requests"];
    requests["compaction"] = {{"above_tokens", above}, {"summary_tokens", summary}};
    return checked_with("/workload/requests", requests);
  };
  for (const auto& [above, summary] : {std::pair(1000, 1001), {1000, 1000}}) {
    const Ended ended = sessions(above, summary);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("summary_tokens: expected fewer than above_tokens, 1000"));
  }
}

TEST_CASE("sweep: a wrong value of the scenario is told where every point replaces it") {
  const ScratchDirectory scratch;
  Json scenario = read_json_file(shipped("quickstart.json"));
  scenario["workload"]["arrivals"]["rate_per_s"] = -8;
  const auto said = [&](const Json& rates) {
    const Json sweep = {{"scenario", scenario}, {"vary", {{"/workload/arrivals/rate_per_s", rates}}}};
    return run_weir({"check", write(scratch / "sweep.json", sweep.dump())});
  };
  const Ended ended = said({1, 2});
  CHECK(ended.code == 0);
  CHECK_THAT(ended.err,
             Catch::Contains("/workload/arrivals/rate_per_s: is wrong in the scenario, and replaced at "
                             "every point: expected a number >= 1e-09 and <= 1000000000, got -8"));
  scenario["workload"]["arrivals"]["rate_per_s"] = 8;
  CHECK_THAT(said({1, 2}).err, !Catch::Contains("is wrong"));
}
