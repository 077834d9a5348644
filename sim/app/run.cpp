// weir run: one scenario, simulated and written down.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>

#include "sim/app/command_line.h"
#include "sim/app/document.h"
#include "sim/app/explain/traced_requests.h"
#include "sim/app/interruption.h"
#include "sim/app/output/figures.h"
#include "sim/app/output/gnuplot.h"
#include "sim/app/output/output_file.h"
#include "sim/app/output/prompts/prompt_sources.h"
#include "sim/app/output/result_directory.h"
#include "sim/app/output/training/training_writers.h"
#include "sim/app/output/writers.h"
#include "sim/app/plan/question.h"
#include "sim/app/play.h"
#include "sim/app/progress_bar.h"
#include "sim/app/sweep/sweep.h"
#include "sim/app/sweep/time_estimate.h"

namespace weir {
namespace {

struct RunArguments {
  std::string file;
  std::vector<std::string> assignments;
  std::optional<std::string> out, seed, trace;
  bool figures = false, timeline = false, detailed = false, quiet = false;
};

// About 160 MB of gaps in memory, and 240 MB of JSON.
constexpr std::int64_t most_detailed_tokens = 20'000'000;

Plan plan_of(const RunArguments& arguments) {
  auto [file, document] = read_document(arguments.file);
  refuse_study(document, file);
  if (is_sweep(document)) throw ConfigError(file, "", fmt::format("this is a sweep: weir sweep {}", file));
  if (is_plan_question(document))
    throw ConfigError(file, "/plan", fmt::format("this is a question: weir plan {}", file));
  for (const std::string& assignment : arguments.assignments) set_pointer(document, assignment);
  if (arguments.seed) set_pointer(document, "/seed=" + *arguments.seed);
  return read_plan(document, file);
}

void check_detailed(const Scenario& scenario) {
  if (!scenario.serves())
    throw ConfigError("--save-detailed", "", "expected a scenario that serves requests");
  std::int64_t tokens = 0;
  for (const Request& request : scenario.workload.requests) tokens += request.output_tokens;
  if (tokens > most_detailed_tokens)
    throw ConfigError("--save-detailed", "",
                      fmt::format("a number a token: expected at most {} output tokens, got {}",
                                  most_detailed_tokens, tokens));
}

// As long as Hermes' authors had their solver run (Section IV-B). Told and not written: what is written does
// not depend on the machine.
std::vector<std::string> placement_warning(const RunResult& result) {
  constexpr Seconds patience(120);
  if (!result.neurons || result.neurons->placement <= patience) return {};
  return {fmt::format(
      "placing neurons took {:.0f} s: fewer buckets, a wider gap or a lower node_limit end it sooner",
      result.neurons->placement.value())};
}

void write_results(ResultDirectory& directory, const FinishedRun& run, const RunArguments& arguments,
                   std::chrono::steady_clock::time_point started) {
  write_requests_csv(directory.file("requests.csv"), run.result);
  if (run.result.sessions) write_sessions_csv(directory.file("sessions.csv"), run.result);
  if (prompts_find(run)) write_prompts_csv(directory.file("prompts.csv"), run.result);
  write_timeseries_csv(directory.file("timeseries.csv"), run.result);
  if (run.training) write_training_steps_csv(directory.file("training_steps.csv"), *run.training);
  if (arguments.timeline) write_timeline_json(directory.file("timeline.json"), run.result);
  if (arguments.timeline && run.training)
    write_training_timeline(directory.file("training_timeline.json"), *run.training);
  if (arguments.detailed) write_detailed_json(directory.file("detailed.json"), run.result);
  write_file(directory.file("summary.json"), summary_json(run).dump(2) + "\n");
  if (arguments.figures) draw_figures(directory, run);
  if (arguments.figures && run.training) draw_training_figures(directory, *run.training);
  write_file(directory.file("performance.json"), performance_json(started, run.result).dump(2) + "\n");
}

void show(ProgressBar& bar, const Progress& p) {
  bar.show(p.share, fmt::format("{:.0f} of {:.0f} requests, {:.0f} s simulated", p.finished_requests,
                                p.total_requests, p.simulated.value()));
}

void tell_none_completed(const Metrics& metrics) {
  fmt::print(stderr,
             "weir: not one request completed: {} rejected (longer than what can be served), {} unfinished\n",
             metrics.rejected, metrics.unfinished);
}

void write_results(ResultDirectory& directory, const FinishedTraining& finished,
                   const RunArguments& arguments, std::chrono::steady_clock::time_point started) {
  write_training_steps_csv(directory.file("training_steps.csv"), finished);
  if (arguments.timeline) write_training_timeline(directory.file("timeline.json"), finished);
  write_file(directory.file("summary.json"), training_summary_json(finished).dump(2) + "\n");
  if (arguments.figures) draw_training_figures(directory, finished);
  write_file(directory.file("performance.json"), performance_json(started, RunResult{}).dump(2) + "\n");
}

// Lines of a trace are written while it runs.
Played play_with_progress(const Plan& plan, const RunArguments& arguments, const Interruption& interruption,
                          const std::vector<std::int32_t>& traced, ResultDirectory& directory) {
  ProgressBar bar(!arguments.quiet && plan.scenario.serves());
  RunOptions options{.timeline = arguments.timeline,
                     .token_gaps = arguments.detailed,
                     .progress = [&](const Progress& p) { show(bar, p); },
                     .interrupted = &interruption.flag()};
  if (!arguments.trace) return play(plan, options);
  OutputFile trace(directory.file("trace.jsonl"));
  options.trace = {traced, [&](const Json& line) { trace.text(line.dump() + "\n"); }};
  Played played = play(plan, options);
  trace.close();
  return played;
}

int tell_result(const FinishedRun& run, const RunArguments& arguments) {
  const RunResult& result = run.result;
  const int code = run.metrics.completed > 0 && !result.stopped ? exit_done : exit_incomplete;
  if (result.stopped)
    fmt::print(stderr, "weir: {}\n", words_of_stop(result));
  else if (code == exit_incomplete)
    tell_none_completed(run.metrics);
  if (arguments.quiet) return code;
  tell(result.notes);
  tell(placement_warning(result));
  if (arguments.timeline) tell(left_out_of_timeline(result));
  if (result.out_of_time && !result.stopped) tell({"stopped at simulated_time_limit_s"});
  fmt::print("{}", summary_table(run, is_terminal(STDOUT_FILENO), terminal_width(STDOUT_FILENO)));
  return code;
}

int run(RunArguments arguments) {
  const auto started = std::chrono::steady_clock::now();
  const Plan plan = plan_of(arguments);
  const Scenario& scenario = plan.scenario;
  if (arguments.detailed) check_detailed(scenario);
  std::vector<std::int32_t> traced;
  if (arguments.trace) traced = traced_requests(*arguments.trace, scenario);
  const Interruption interruption;  // from here on there is something to tidy up
  const std::filesystem::path stem = std::filesystem::path(scenario.file).stem();
  std::vector<std::filesystem::path> inputs(scenario.files.begin(), scenario.files.end());
  if (arguments.file != "-") inputs.emplace_back(arguments.file);
  ResultDirectory directory(arguments.out ? std::filesystem::path(*arguments.out) : "out" / stem, inputs);
  arguments.figures = can_draw(arguments.figures);
  if (!arguments.quiet) tell(scenario.notes);
  if (scenario.collective_flows && !arguments.quiet) tell(flows_warning(estimate_time(plan)));
  Interruption::check();
  const Played played = play_with_progress(plan, arguments, interruption, traced, directory);
  Interruption::check();
  const FinishedTraining training{plan, played.trained, scenario.serves() ? &played.alone : nullptr,
                                  &played.served_alone};
  const FinishedTraining* const trained = plan.training.empty() ? nullptr : &training;
  std::optional<Metrics> metrics;
  if (played.served) metrics = measure(*played.served, scenario.slo);
  if (metrics)
    write_results(directory, FinishedRun{plan, *played.served, *metrics, trained}, arguments, started);
  else
    write_results(directory, training, arguments, started);
  Interruption::check();
  directory.commit();
  if (!arguments.quiet) tell_removed(directory.removed());
  const int code = metrics ? tell_result({plan, *played.served, *metrics, trained}, arguments)
                           : static_cast<int>(exit_done);
  if (arguments.quiet) return code;
  if (trained)
    fmt::print("{}", training_table(training, is_terminal(STDOUT_FILENO), terminal_width(STDOUT_FILENO)));
  fmt::print(stderr, "results in {}\n", directory.place().string());
  return code;
}

}  // namespace

std::function<int()> declare_run(CLI::App& app) {
  const auto a = std::make_shared<RunArguments>();
  app.add_option("SCENARIO", a->file, "scenario file (JSON; its keys: weir check --schema); - is stdin")
      ->required();
  app.add_option("--out", a->out, "directory for the results, replaced whole (default: out/<file's stem>)")
      ->type_name("DIR");
  app.add_option("--set", a->assignments, "set one value: /serving/replicas/0/count=2 (repeatable)")
      ->type_name("POINTER=JSON")
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--seed", a->seed, "the scenario's seed")->type_name("N");
  app.add_flag("--figures", a->figures, "draw figures as SVG (with gnuplot; without it, a note)");
  app.add_flag("--timeline", a->timeline, "write timeline.json for ui.perfetto.dev");
  app.add_option("--trace", a->trace,
                 "write trace.jsonl: what happened to these requests and why, for weir explain; numbers of "
                 "requests.csv, or all")
      ->type_name("REQUEST[,...]|all");
  app.add_flag("--save-detailed", a->detailed,
               "write detailed.json: lengths, TTFT and every gap of each request, as vLLM's benchmark does");
  app.add_flag("--quiet", a->quiet, "print nothing but errors");
  return [a] { return run(*a); };
}

}  // namespace weir
