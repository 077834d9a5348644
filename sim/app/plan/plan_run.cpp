#include "sim/app/plan/plan_run.h"
#include "sim/app/shell/arguments.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "sim/app/command_line.h"
#include "sim/app/document.h"
#include "sim/app/interruption.h"
#include "sim/app/output/output_file.h"
#include "sim/app/plan/launch/launch.h"
#include "sim/app/plan/outcome.h"
#include "sim/app/plan/pool_options.h"
#include "sim/app/progress_bar.h"
#include "sim/app/ranking/ranking.h"
#include "sim/app/sweep/search/conclude.h"

namespace weir {
namespace {

const char* const files_of_a_winner[] = {"scenario.json", "command.sh", "compose.yaml", "kubernetes.yaml"};

bool is_of_a_plan(const std::string& name) {
  return name == "plan.json" || std::ranges::find(files_of_a_winner, name) != std::end(files_of_a_winner);
}

// The directory may be moved: files that the scenario names are named whole.
void make_absolute(Json& value, const PlanQuestion& question) {
  if (value.is_structured())
    for (Json& below : value) make_absolute(below, question);
  if (!value.is_string() || !no_path(value.get_ref<const std::string&>()).empty()) return;
  const std::filesystem::path file = Reading(question.file).relative(value.get<std::string>());
  if (question.files.contains(file) && std::filesystem::exists(file))
    value = std::filesystem::absolute(file).lexically_normal().string();
}

Json winning_scenario(const PlannedSweep& plan, const RankedDeployment& winner) {
  Json scenario = scenario_of(plan.question, *winner.deployment);
  scenario["name"] = fmt::format("{}: {}", plan.question.name, winner.deployment->name);
  for (const char* key : {"$schema", "about"}) scenario.erase(key);
  make_absolute(scenario, plan.question);
  return scenario;
}

Launch launch_of(const PlannedSweep& plan, const RankedDeployment& winner) {
  Json scenario = without_workload(plan.question, winner.deployment->precision, winner.deployment->replicas);
  scenario["name"] = fmt::format("{}, {}", plan.question.name, winner.deployment->name);
  return launch_of(read_plan(scenario, plan.question.file));
}

void write_winner(const PlannedSweep& plan, const SweepDirectory& directory, const RankedDeployment& winner) {
  write_file(directory.file("scenario.json"), winning_scenario(plan, winner).dump(2) + "\n");
  const Launch launch = launch_of(plan, winner);
  write_file(directory.file("command.sh"), launch.script);
  std::filesystem::permissions(directory.file("command.sh"), std::filesystem::perms::owner_exec,
                               std::filesystem::perm_options::add);
  write_file(directory.file(launch.nodes > 1 ? "kubernetes.yaml" : "compose.yaml"), launch.manifest);
}

PlanSearch search_with_progress(const PlannedSweep& plan, SweepDirectory& directory,
                                const RunPoints& run_points, const Interruption& interruption, bool talk) {
  ProgressBar bar(talk);
  return search(plan.question, plan.deployments, plan.sweep, directory, run_points, interruption,
                [&](const EndedOf& so_far) {
                  bar.show(static_cast<double>(so_far.ended) / static_cast<double>(so_far.of),
                           fmt::format("{} of at most {} deployments", so_far.ended, so_far.of));
                });
}

void write_results(const PlannedSweep& plan, SweepDirectory& directory, PlanSearch& found) {
  const std::filesystem::path database = directory.file("results.sqlite");
  const std::vector<std::string> columns = conclude(plan.sweep.searches, found.results.points);
  if (!columns.empty()) directory.store().add_columns(found.results.points, columns);
  directory.close();
  write_results_csv(directory.file("results.csv"), database, plan.sweep.varied);
}

void tell_failures(const PlanSearch& found) {
  for (const PointResult& point : found.results.points)
    if (point.status != "done")
      fmt::print(stderr, "{} failed: {}\n", value_of(point.varied, "/name")->get<std::string>(), point.error);
}

void tell_command(const Launch& launch, const std::string& out) {
  fmt::print("\n{}\n", launch.commands);
  fmt::print(stderr, "results in {}: plan.json, scenario.json (weir run), command.sh, {}, results.csv\n", out,
             launch.nodes > 1 ? "kubernetes.yaml" : "compose.yaml");
}

}  // namespace

void declare_plan_arguments(CLI::App& app, PlanArguments& a) {
  app.add_option("SCENARIO", a.file,
                 "scenario (JSON) with an slo; its cluster and replicas may be left out, and bound what is "
                 "planned where they are there")
      ->required();
  app.add_option("--devices", a.devices, "what there is to use: 16xh100_sxm,8xl40s")->type_name("LIST");
  std::string names, help = "what is least:";
  for (const Objective& o : objectives()) {
    help += fmt::format(" {}, {};", o.name, o.summary);
    names += (names.empty() ? "" : "|") + o.name;
  }
  app.add_option("--objective", a.objective, help + " the default is the first")->type_name(names);
  app.add_option("--precision", a.precisions,
                 "number formats to try beside the scenario's: weights=fp8,activations=fp8 (repeatable)")
      ->type_name("KEY=TYPE,...")
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--top", a.top, "rows to print")->type_name("N")->check(whole_number(1, 1000));
  app.add_option("--jobs", a.jobs, "deployments run at once (default: one a core; under mpirun: one a rank)")
      ->type_name("N")
      ->check(whole_number(1, 4096));
  app.add_flag("--resume", a.resume, "run only the deployments that DIR lacks or that failed there");
  app.add_option(
         "--out", a.out,
         "directory for the results, replaced whole unless --resume is given (default: out/<file's stem>)")
      ->type_name("DIR");
  app.add_flag("--quiet", a.quiet, "print nothing but errors");
}

std::unique_ptr<PlannedSweep> asked_plan(PlanArguments& arguments) {
  auto [file, document] = read_document(arguments.file);
  arguments.file = file;
  if (arguments.out.empty()) arguments.out = ("out" / std::filesystem::path(file).stem()).string();
  auto plan = std::make_unique<PlannedSweep>();
  plan->question = read_question(document, arguments);
  plan->sweep = sweep_of(plan->question, {});
  return plan;
}

void add_deployments(PlannedSweep& plan) {
  plan.deployments = deployments_of(plan.question);
  plan.sweep = sweep_of(plan.question, plan.deployments);
}

int run_plan(const PlannedSweep& plan, const PlanArguments& arguments, const RunPoints& run_points) try {
  const Interruption interruption;
  SweepDirectory directory(arguments.out, plan.sweep, arguments.resume);
  const bool talk = !arguments.quiet;
  std::vector<std::string> removed = directory.removed();
  std::erase_if(removed, is_of_a_plan);
  if (talk) tell_removed(removed);
  for (const char* name : {"plan.json", "results.csv"}) std::filesystem::remove(directory.file(name));
  for (const char* name : files_of_a_winner) std::filesystem::remove(directory.file(name));  // of before
  if (talk) tell(plan.question.notes);
  PlanSearch found = search_with_progress(plan, directory, run_points, interruption, talk);
  write_results(plan, directory, found);
  const PlanOutcome outcome = outcome_of(plan.question, plan.deployments, found);
  if (outcome.met > 0) write_winner(plan, directory, outcome.ranked[0]);
  write_file(directory.file("plan.json"),
             plan_json(plan.question, plan.deployments, found, outcome).dump(2) + "\n");
  tell_failures(found);
  const int code = outcome.met > 0 && found.counts.failed == 0 ? exit_done : exit_incomplete;
  if (!talk) return code;
  fmt::print("{}", plan_table(plan.question, plan.deployments, found, outcome, is_terminal(STDOUT_FILENO),
                              terminal_width(STDOUT_FILENO)));
  if (outcome.met > 0) tell_command(launch_of(plan, outcome.ranked[0]), arguments.out);
  std::fflush(stdout);
  return code;
} catch (const Interrupted&) {
  fmt::print(stderr, "weir: interrupted; --resume runs the deployments that {} lacks\n", arguments.out);
  return Interruption::exit_code();
}

}  // namespace weir
