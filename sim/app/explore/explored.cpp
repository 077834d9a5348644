#include "sim/app/explore/explored.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/app/document.h"
#include "sim/app/evidence/evidence.h"
#include "sim/app/output/writers.h"
#include "sim/app/play.h"
#include "sim/app/report/page.h"
#include "sim/app/sweep/search/offered_load.h"
#include "sim/app/sweep/sweep.h"
#include "sim/core/json/allowed_files.h"

namespace weir {
namespace {

// Half an octave around the scenario's load, and two octaves to each side: an idle server on the left, a
// queue that grows on the right.
constexpr double load_factors[] = {0.25, 0.5, 0.75, 1.25, 1.5, 2, 3, 4};
static_assert(std::size(load_factors) == load_parts);

double in_ms(Seconds time) {
  return 1e3 * time.value();
}

Json latencies_of(const RunResult& result) {
  std::vector<double> ttft, tpot, e2el;
  for (const RequestRecord& record : result.requests) {
    if (record.status != RequestStatus::completed || !is_measured(record)) continue;
    ttft.push_back(in_ms(time_to_first_token(record)));
    e2el.push_back(in_ms(end_to_end(record)));
    if (const auto each = time_per_output_token(record)) tpot.push_back(in_ms(*each));
  }
  return {{"ttft_ms", thinned_quantiles(std::move(ttft))},
          {"tpot_ms", thinned_quantiles(std::move(tpot))},
          {"e2el_ms", thinned_quantiles(std::move(e2el))}};
}

Json course_of(const RunResult& result) {
  std::vector<double> time, blocks, running, waiting;
  for (const Sample& sample : result.samples) {
    time.push_back(sample.time.value());
    blocks.push_back(sample.kv_blocks);
    running.push_back(sample.running);
    waiting.push_back(sample.waiting);
  }
  return {{"time_s", thinned_means(time)},
          {"kv_blocks_used", thinned_means(blocks)},
          {"running", thinned_means(running)},
          {"waiting", thinned_means(waiting)}};
}

// Another file's are told with its name.
Json problems_of(const ConfigError& error, const std::string& file) {
  Json list = Json::array();
  for (const Problem& problem : error.problems())
    list.push_back({{"pointer", problem.pointer},
                    {"what", error.file() == file ? problem.what : error.file() + ": " + problem.what}});
  return {{"problems", std::move(list)}};
}

// One without a rate, or with a number in flight that would be the same again, has no such part.
Json at_load(Json scenario, const std::string& file, double factor) {
  Json& arrivals = scenario.at("workload").at("arrivals");
  if (const auto flying = arrivals.find("concurrency");
      flying != arrivals.end() && flying->is_number_integer()) {
    const auto own = flying->get<std::int64_t>();
    const auto other = static_cast<std::int64_t>(factor * static_cast<double>(own));
    if (other < 1 || other == own) return nullptr;
    *flying = other;
    return scenario;
  }
  try {
    const OfferedLoad load(scenario, file);
    load.set(scenario, load.rate_per_s() * factor);
  } catch (const ConfigError&) {
    return nullptr;
  }
  return scenario;
}

struct Finished {
  Plan plan;
  RunResult result;
  Metrics metrics;
};

Finished finished(const Json& scenario, const std::string& file) {
  Plan plan = read_plan(scenario, file);
  if (!plan.scenario.serves())
    throw ConfigError(file, "", "this serves no requests: there is nothing to show");
  Played played = play(plan, {});
  if (played.served->stopped) throw std::runtime_error(words_of_stop(*played.served));
  Metrics metrics = measure(*played.served, plan.scenario.slo);
  return {std::move(plan), std::move(*played.served), std::move(metrics)};
}

Json run_scenario(const Json& scenario, const std::string& file) {
  const Finished run = finished(scenario, file);
  Json summary = summary_json({run.plan, run.result, run.metrics});
  Json answer = {{"scenario", summary["scenario"]}};
  summary.erase("scenario");
  answer["summary"] = std::move(summary);
  answer["latencies"] = latencies_of(run.result);
  answer["course"] = course_of(run.result);
  answer["evidence"] = in_words(evidence_of(
      run.plan, 0, load_of(run.plan, run.metrics.request_throughput * run.metrics.e2el_ms.mean / 1e3)));
  return answer;
}

}  // namespace

Explored explored_scenario(const std::string& argument) {
  auto [file, document] = read_document(argument);
  refuse_study(document, file);
  if (is_sweep(document))
    throw ConfigError(file, "", fmt::format("this is a sweep: weir sweep {0}, then weir report", file));
  Plan plan = read_plan(document, file);
  if (!plan.scenario.serves())
    throw ConfigError(file, "",
                      fmt::format("this only trains; weir explore is for what serves: weir run {}", file));
  return {argument, std::move(document), std::move(plan.scenario.resolved), std::move(plan.scenario.files)};
}

Json changed(const Explored& explored, const Json& changes) {
  constexpr std::size_t most =
      200;  // far more than the page has controls, and than it has keys in each other
  const auto wrong = [] { return ConfigError("changes", "", "expected [[pointer, value], ...]"); };
  if (!changes.is_array() || changes.size() > most) throw wrong();
  Json document = explored.document;
  for (const Json& change : changes) {
    if (!change.is_array() || change.size() != 2 || !change[0].is_string()) throw wrong();
    const std::string pointer = change[0];
    if (std::count(pointer.begin(), pointer.end(), '/') > static_cast<std::ptrdiff_t>(most)) throw wrong();
    set_pointer(document, pointer + "=" + dumped(change[1]));
  }
  return parse_json(dumped(document), "changes");  // no deeper than a file may be
}

Json run_part(const Explored& explored, const Json& scenario, int part) {
  allow_only(explored.files);
  const std::string file = explored.file == "-" ? "stdin" : explored.file;
  try {
    if (part == 0) return run_scenario(scenario, file);
    const Json other = at_load(scenario, file, load_factors[part - 1]);
    if (other.is_null()) return nullptr;
    const Finished run = finished(other, file);
    return headline(summary_json({run.plan, run.result, run.metrics}));
  } catch (const ConfigError& error) {
    return problems_of(error, file);
  }
}

}  // namespace weir
