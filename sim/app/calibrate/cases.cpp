#include "sim/app/calibrate/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/app/measured/measured.h"
#include "sim/core/errors.h"

namespace weir {
namespace {

// Groups of a run's requests are observations of their own, since its batches grow and shrink; of fewer than
// this a mean says little.
constexpr std::size_t fewest_of_a_group = 40, most_groups = 8;

std::optional<double> time_of(const BenchmarkedRequest& request, TimeOf what) {
  return what == TimeOf::output_token ? request.tpot_ms : request.ttft_ms;
}

// In the order in which they were sent, as they are played.
std::vector<BenchmarkedRequest> as_sent(std::vector<BenchmarkedRequest> requests) {
  if (std::ranges::all_of(requests, [](const auto& r) { return r.sent_s.has_value(); }))
    std::ranges::stable_sort(requests, {}, [](const auto& r) { return *r.sent_s; });
  return requests;
}

void observe_requests(CalibrationCase& one, const std::vector<BenchmarkedRequest>& requests, TimeOf what) {
  const std::size_t groups = std::clamp<std::size_t>(requests.size() / fewest_of_a_group, 1, most_groups);
  for (std::size_t g = 0; g < groups; ++g) {
    Observation seen{what, false, g * requests.size() / groups, (g + 1) * requests.size() / groups};
    double sum = 0, count = 0;
    for (std::size_t i = seen.first; i < seen.end; ++i) {
      const auto ms = time_of(requests[i], what);
      seen.timed.push_back(ms.has_value());
      sum += ms.value_or(0);
      count += ms.has_value();
    }
    if (count == 0 || sum == 0) continue;
    seen.ms = sum / count;
    seen.weight = count;
    one.observations.push_back(seen);
  }
}

void observe(CalibrationCase& one, const BenchmarkResult& benchmark) {
  const Json summary = measured_summary(benchmark);
  const std::vector<BenchmarkedRequest> requests = as_sent(benchmark.requests);
  for (const auto& [what, name] :
       {std::pair{TimeOf::output_token, "mean_tpot_ms"}, {TimeOf::first_token, "mean_ttft_ms"}}) {
    const auto has_time = [what = what](const BenchmarkedRequest& r) { return time_of(r, what).has_value(); };
    if (std::ranges::any_of(requests, has_time))
      observe_requests(one, requests, what);
    else if (summary.contains(name) && summary[name] > 0)
      one.observations.push_back({what, true, 0, 0, summary[name], 1, {}});
    const bool fitted = std::ranges::any_of(
        one.observations, [what = what](const Observation& seen) { return seen.what == what; });
    if (!fitted && (summary.contains(name) || std::ranges::any_of(requests, has_time)))
      one.notes.push_back(fmt::format("{} is 0: no server answers in no time, so it is not fitted to", name));
  }
}

// Lengths that a result has no list of are the scenario's, which then have to be those that it sums up.
std::string set_lengths(Json& requests, const Json& summary) {
  if (!requests.is_object() || !requests.contains("kind"))
    return "and the scenario has no workload/requests to take them from";
  for (const char* name : {"completed", "total_input_tokens", "total_output_tokens"})
    if (!summary.contains(name)) return fmt::format("nor a {}, which would sum them up", name);
  const double n = summary["completed"];
  if (!(n >= 1 && n <= static_cast<double>(max_tokens)))
    return fmt::format("and its completed, {:g}, is no number of requests", n);
  requests["count"] = static_cast<std::int64_t>(n);
  if (requests["kind"] != "fixed") return "";
  for (const auto& [total, key] :
       {std::pair{"total_input_tokens", "input_tokens"}, {"total_output_tokens", "output_tokens"}}) {
    const double mean = summary[total].get<double>() / n;
    if (mean < 1 || mean > static_cast<double>(max_tokens) || mean != std::floor(mean))
      return fmt::format(
          "and its {} over completed ({:g}) is no whole number of tokens, as the scenario's fixed lengths "
          "are",
          total, mean);
    requests[key] = static_cast<std::int64_t>(mean);
  }
  return "";
}

// The load is the benchmark's; a closed loop of the scenario stays with what it says of warming up.
Json arrivals_of(const BenchmarkResult& benchmark, const Json& of_scenario, std::string& wrong) {
  const BenchmarkLoad& load = benchmark.load;
  const bool sent = !benchmark.requests.empty() && std::ranges::all_of(benchmark.requests, [](const auto& r) {
    return r.sent_s.has_value();
  });
  const bool loop = of_scenario.is_object() && of_scenario.value("kind", "") == "closed_loop";
  if (load.concurrency && !std::isfinite(load.request_rate) && load.unknown.empty()) {
    Json arrivals = loop ? of_scenario : Json{{"kind", "closed_loop"}};
    arrivals["concurrency"] = *load.concurrency;
    return arrivals;
  }
  if (sent) {
    Json arrivals = {{"kind", "trace"}};
    if (load.concurrency) arrivals["max_in_flight"] = *load.concurrency;
    return arrivals;
  }
  if (!load.unknown.empty()) wrong = "how requests were sent is not known: " + load.unknown;
  if (benchmark.no_requests.empty()) return {{"kind", "benchmark"}};
  if (!std::isfinite(load.request_rate)) return {{"kind", "all_at_once"}};
  Json arrivals = {{"kind", "poisson"}, {"rate_per_s", load.request_rate}};
  if (!std::isfinite(load.burstiness))
    arrivals["kind"] = "constant";
  else if (load.burstiness != 1)
    arrivals["kind"] = "gamma", arrivals["cv"] = 1 / std::sqrt(load.burstiness);
  if (load.concurrency) arrivals["max_in_flight"] = *load.concurrency;
  return arrivals;
}

// As read_replicas has it: one replica where a scenario says nothing of them.
void name_replicas(Json& scenario) {
  if (!scenario.contains("serving")) scenario["serving"] = Json::object();
  Json& serving = scenario["serving"];
  if (serving.is_object() && !serving.contains("replicas"))
    serving["replicas"] = Json::array({Json::object()});
}

CalibrationCase case_of(const std::string& file, std::size_t number, std::size_t of,
                        const BenchmarkResult& benchmark, const Document& scenario,
                        std::vector<Problem>& problems) {
  const std::string where = of > 1 ? fmt::format("{}, result {}", file, number) : file;
  CalibrationCase one{where, benchmark.tool, scenario.file, scenario.json, {}, {}};
  name_replicas(one.scenario);
  one.notes = measured_notes(benchmark);
  observe(one, benchmark);
  if (one.observations.empty())
    problems.push_back({"", where + ": has neither a mean TPOT nor a mean TTFT, nor those of its requests"});
  Json& workload = one.scenario["workload"];
  if (!workload.is_object()) workload = Json::object();
  std::string wrong;
  workload["arrivals"] = arrivals_of(benchmark, workload.value("arrivals", Json()), wrong);
  if (!wrong.empty()) problems.push_back({"", where + ": " + wrong});
  if (!benchmark.no_requests.empty()) {
    if (const std::string why = set_lengths(workload["requests"], measured_summary(benchmark)); !why.empty())
      problems.push_back({"", fmt::format("{}: {}, {}", where, benchmark.no_requests, why)});
    return one;
  }
  workload["requests"] = {{"kind", benchmark.tool}, {"file", std::filesystem::absolute(file).string()}};
  if (of > 1) workload["requests"]["result"] = number;
  return one;
}

}  // namespace

double CalibrationCase::measured_ms(TimeOf what) const {
  double sum = 0, weight = 0;
  for (const Observation& seen : observations)
    if (seen.what == what) {
      sum += seen.weight * seen.ms;
      weight += seen.weight;
    }
  return sum / weight;
}

bool one_load(const std::vector<CalibrationCase>& cases) {
  return std::ranges::all_of(cases,
                             [&](const CalibrationCase& one) { return one.load() == cases[0].load(); });
}

std::vector<CalibrationCase> read_cases(const std::vector<std::string>& files,
                                        const std::vector<Document>& scenarios) {
  std::vector<CalibrationCase> cases;
  std::vector<Problem> problems;
  if (scenarios.size() != 1 && scenarios.size() != files.size())
    throw ConfigError("weir calibrate", "",
                      fmt::format("expected one --scenario, or one for each of the {} measurements (got {})",
                                  files.size(), scenarios.size()));
  for (std::size_t f = 0; f < files.size(); ++f) {
    const std::string& file = files[f];
    const Document& scenario = scenarios[scenarios.size() == 1 ? 0 : f];
    try {
      const std::vector<BenchmarkResult> results = read_benchmarks(read_text_file(file), file);
      for (std::size_t i = 0; i < results.size(); ++i)
        cases.push_back(case_of(file, i, results.size(), results[i], scenario, problems));
    } catch (const ConfigError& error) {
      for (const Problem& p : error.problems())
        problems.push_back(
            {"", fmt::format("{}: {}{}{}", file, p.pointer, p.pointer.empty() ? "" : ": ", p.what)});
    }
  }
  if (!problems.empty()) throw ConfigError("weir calibrate", std::move(problems));
  return cases;
}

double simulated_ms(const Observation& observation, const RunResult& result, const Metrics& metrics) {
  const bool tpot = observation.what == TimeOf::output_token;
  if (observation.of_all) return (tpot ? metrics.tpot_ms : metrics.ttft_ms).mean;
  double sum = 0, count = 0;
  for (std::size_t i = observation.first; i < std::min(observation.end, result.requests.size()); ++i) {
    if (!observation.timed[i - observation.first]) continue;
    const RequestRecord& record = result.requests[i];
    if (record.status != RequestStatus::completed || !is_measured(record)) continue;
    const std::optional<Seconds> time = tpot ? time_per_output_token(record) : time_to_first_token(record);
    if (!time) continue;
    sum += 1e3 * time->value();
    ++count;
  }
  return sum / count;
}

}  // namespace weir
