// How much measurements tell of each constant, and where constants stand in a replica, by hand.
#include "sim/app/calibrate/fit.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/app/calibrate/report.h"

using namespace weir;

namespace {

// A usual change of the k-th constant makes a token k + 1 ms longer, and a first token ten times that.
CaseTimes linear_server(const std::vector<CalibrationTrial>& trials, const ConstantValues& start) {
  CaseTimes times;
  for (const CalibrationTrial& trial : trials) {
    double more = 0;
    for (std::size_t k = 0; k < start.size(); ++k)
      more += static_cast<double>(k + 1) * (trial.values[k] - start[k]) / server_constants()[k].usual;
    times.push_back({10 + more, 50 + 10 * more});
  }
  return times;
}

RequestRecord timed_request(double first_s, double next_s, std::int64_t output) {
  RequestRecord r;
  r.request = {Seconds(1), 5, output};
  r.first_token = Seconds(1 + first_s);
  r.finished = r.first_token + static_cast<double>(output - 1) * Seconds(next_s);
  r.status = RequestStatus::completed;
  return r;
}

}  // namespace

// Noise of a token's time is 3.6 %, of a first token's 60 %.
TEST_CASE(
    "calibration: what a constant explains is the usual change's effect, in noise, over what was chosen") {
  const ConstantValues start = {1000, 30, 50, 1, 1, 9000};
  REQUIRE(start.size() == server_constants().size());
  std::vector<CalibrationCase> cases(1);
  cases[0].observations = {{TimeOf::output_token, true, 0, 0, 10, 1, {}},
                           {TimeOf::first_token, true, 0, 0, 50, 1, {}}};
  const std::vector<bool> may_change = {true, true, false, true, true, true};
  const CalibrationFit fit(cases, start, may_change,
                           [&](const auto& trials) { return linear_server(trials, start); });
  const FittedServer both = fit.fitted_to(every_observation);
  const FittedServer first = fit.fitted_to([](std::size_t, std::size_t number) { return number == 1; });
  for (std::size_t k = 0; k < start.size(); ++k) {
    CAPTURE(k);
    const double changes = may_change[k] ? static_cast<double>(k + 1) : 0;
    const double of_token = changes / 10 / 0.036, of_first = 10 * changes / 50 / 0.6;
    CHECK(both.told[k].alone == Approx(std::hypot(of_token, of_first)));
    CHECK(first.told[k].alone == Approx(of_first));
    CHECK(both.values[k] == Approx(start[k]));  // which met both times
  }
  CHECK(both.is_fitted == std::vector<bool>{true, false, false, false, false, false});
  CHECK(fit.before() == CaseTimes{{10, 50}});
}

TEST_CASE("calibration: each constant is read from its own place, in its own unit") {
  ReplicaSpec replica;
  replica.engine.per_step = Seconds(700e-6);
  replica.engine.per_sequence = Seconds(8e-6);
  replica.engine.per_prompt = Seconds(90e-6);
  replica.front_end.per_request = Seconds(11e-3);
  std::map<std::string, double> values;
  for (const ServerConstant& constant : server_constants()) values[constant.key] = constant.of(replica);
  CHECK(values.at("step_overhead_us") == Approx(700));
  CHECK(values.at("sequence_overhead_us") == Approx(8));
  CHECK(values.at("prompt_overhead_us") == Approx(90));
  CHECK(values.at("front_end_ms") == Approx(11));
  CHECK((values.at("memory_efficiency") == 1 && values.at("compute_efficiency") == 1));
  replica.engine.kind = "vllm";
  replica.engine.version = "0.9";
  const Json json =
      calibration_json(replica, "l40s", {1, 2, 3, 4, 5, 6}, {true, false, false, true, false, true});
  CHECK(json == Json{{"format", "weir-calibration-1"},
                     {"engine", "vllm"},
                     {"engine_version", "0.9"},
                     {"device", "l40s"},
                     {"step_overhead_us", 1.0},
                     {"memory_efficiency", 4.0},
                     {"prompt_overhead_us", 6.0}});
}

// The second to the fourth of five requests are observed, and two of these were timed.
TEST_CASE("calibration: an observation is the mean of its own requests that were timed and completed") {
  RunResult result;
  for (const double first : {0.1, 0.2, 0.4, 0.8, 1.6})
    result.requests.push_back(timed_request(first, first / 10, 3));
  Observation seen{TimeOf::first_token, false, 1, 4, 0, 1, {1, 0, 1}};
  const Metrics metrics = measure(result, {});
  CHECK(simulated_ms(seen, result, metrics) == Approx(500));
  seen.what = TimeOf::output_token;
  CHECK(simulated_ms(seen, result, metrics) == Approx(50));
  result.requests[3].status = RequestStatus::unfinished;
  CHECK(simulated_ms(seen, result, metrics) == Approx(20));
  seen.end = 9;  // more were measured than ran
  seen.timed = {0, 1, 1, 1, 1, 1, 1, 1};
  CHECK(simulated_ms(seen, result, metrics) == Approx((40 + 160) / 2.));
  seen.of_all = true;
  CHECK(simulated_ms(seen, result, metrics) == Approx((10 + 20 + 40 + 80 + 160) / 5.));
  seen.what = TimeOf::first_token;
  CHECK(simulated_ms(seen, result, metrics) == Approx(620));
}

namespace {

// Two measurements of 100 ms a token, the first in two parts of which one counts three times.
struct MadeReport {
  std::vector<CalibrationCase> cases{2};
  FittedServer fitted;
  ConstantValues start;
  std::vector<bool> may_change;
  CaseTimes before;
  CaseTimes held_out;

  MadeReport(CaseTimes was, CaseTimes is) : before(std::move(was)) {
    cases[0].observations = {{TimeOf::output_token, false, 0, 3, 100, 3, {}},
                             {TimeOf::output_token, false, 3, 4, 100, 1, {}}};
    cases[1].observations = {{TimeOf::output_token, true, 0, 0, 100, 1, {}}};
    fitted.is_fitted = {false, true};
    fitted.times = std::move(is);
  }
  CalibrationReport report() const {
    return {cases, before, fitted, start, may_change, held_out, "by halves"};
  }
};

}  // namespace

// (3 x 140 + 180) / 400 is 50 % too long, 80 of 100 ms 20 % too short.
TEST_CASE(
    "calibration: the error is the mean over measurements of what each is off by, parts by their weight") {
  const MadeReport made({{140, 180}, {80}}, {{100, 100}, {100}});
  CHECK(made.report().error(TimeOf::output_token, made.before) == Approx(0.35));
  CHECK(made.report().error(TimeOf::output_token, {{140, NAN}, {NAN}}) == Approx(0.4));
  CHECK(std::isnan(made.report().error(TimeOf::first_token, made.before)));
}

TEST_CASE(
    "calibration: it is written where it is nearer, presets are not near, and a third is gained elsewhere") {
  MadeReport made({{140, 180}, {80}}, {{110, 110}, {110}});
  CHECK(made.report().refusal() == "");
  made.held_out = {{128, 128}, {82}};  // 23 of 35 %
  CHECK(made.report().refusal() == "");
  made.held_out = {{128, 128}, {80}};  // 24
  CHECK(made.report().refusal() ==
        "TPOT that it was not fitted to would be 24.0 % off (by halves), and is 35.0 % without: less than a "
        "third is gained");
  made.held_out = {{NAN, NAN}, {87}};  // of the second alone 13 of 20 %
  CHECK(made.report().refusal() == "");
  made.held_out.clear();
  made.fitted.times = {{140, 180}, {120}};
  CHECK(made.report().refusal() == "TPOT would be 35.0 % off, and is 35.0 % without");
  made.fitted.is_fitted = {false, false};
  CHECK(made.report().refusal() == "no constant can be told from these measurements");
  CHECK(MadeReport({{104, 104}, {95}}, {{101, 101}, {100}}).report().refusal() ==
        "TPOT is 4.5 % off without, less than the 5 % that presets are judged at");
  CHECK(MadeReport({{104, 104}, {93}}, {{101, 101}, {100}}).report().refusal() == "");
}
