// weir check: is this file right? Every problem is listed, and nothing runs but a few points of a sweep, to
// say how long it will take. `--schema` prints what editors can check by.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "sim/app/command_line.h"
#include "sim/app/document.h"
#include "sim/app/evidence/evidence.h"
#include "sim/app/output/writers.h"
#include "sim/app/plan/deployments.h"
#include "sim/app/reproduce/reproduce.h"
#include "sim/app/sweep/time_estimate.h"
#include "sim/plan/plan.h"
#include "sim/step/training/training_step.h"

namespace weir {
namespace {

void tell_accuracy(const Plan& plan) {
  const std::vector<std::string> lines = accuracy_lines(plan);
  if (!lines.empty()) fmt::print("accuracy:\n");
  for (const std::string& line : lines) fmt::print("  {}\n", line);
}

std::string machine_of(const TrainingJob& job) {
  std::string words;
  for (const auto& device : {job.machine.cpu, job.machine.gpu, job.machine.memory})
    if (device) words += (words.empty() ? "" : " + ") + device->spec().kind;
  return words;
}

// A job's operators and bytes are a step's; which types the runtime offers to the memory, a profile said.
int check_training(const Plan& plan, const std::string& file) {
  fmt::print("{}: ok ({} training job{})\n", file, plan.training.size(),
             plan.training.size() == 1 ? "" : "s");
  for (const TrainingJob& job : plan.training) {
    fmt::print(
        "{}: {} steps of {}, batch {}, on {}; {} operators, {:.2f} GB at once, {:.2f} GB moved a step\n",
        job.spec.name, job.spec.steps, job.graph.net, job.graph.batch, machine_of(job),
        boost::num_vertices(job.graph.operators), peak_bytes(job.graph).value() / 1e9,
        bytes_moved(job.graph).value() / 1e9);
    const TrainingStep step = job.first_steps(1);
    std::vector<std::string> candidates;
    for (const OperatorType type : step.candidates()) candidates.emplace_back(to_string(type));
    if (!candidates.empty()) fmt::print("  candidates: {}\n", fmt::join(candidates, ", "));
  }
  tell_accuracy(plan);
  std::fflush(stdout);
  fmt::print("{}\n", in_words(estimate_time(plan)));
  return exit_done;
}

int check_scenario(const Json& document, const std::string& file) {
  const Plan plan = read_plan(document, file);
  const Scenario& scenario = plan.scenario;
  tell(scenario.notes);
  if (!scenario.serves()) return check_training(plan, file);
  tell(scenario.workload.notes);
  int replicas = 0;
  for (const ReplicaSpec& spec : scenario.replicas) replicas += spec.count;
  fmt::print("{}: ok ({}, {} replica{}, {} requests)\n", file, scenario.model.name, replicas,
             replicas == 1 ? "" : "s", scenario.workload.requests.size());
  for (const std::string& line : memory_in_words(plan)) fmt::print("memory of {}\n", line);
  tell_accuracy(plan);
  std::fflush(stdout);
  const TimeEstimate estimate = estimate_time(plan);
  fmt::print("{}\n", in_words(estimate));
  if (scenario.collective_flows) tell(flows_warning(estimate));
  return exit_done;
}

int check_sweep(const Json& document, const std::string& file) {
  const Sweep sweep = read_sweep_document(document, file);
  constexpr std::ptrdiff_t told = 10;
  tell({sweep.notes.begin(), sweep.notes.begin() + std::min(told, std::ssize(sweep.notes))});
  if (std::ssize(sweep.notes) > told)
    fmt::print(stderr, "and {} more notes\n", std::ssize(sweep.notes) - told);
  for (const LeftOut& left : sweep.left_out) fmt::print("left out: {}: {}\n", left.what, left.why);
  fmt::print("{}: ok ({} point{})\n", file, sweep.points.size(), sweep.points.size() == 1 ? "" : "s");
  fmt::print("{}\n", in_words(estimate_time(sweep)));
  return exit_done;
}

int check_plan_question(const Json& document, const std::string& file) {
  PlanArguments arguments;
  arguments.file = file;
  const PlanQuestion question = read_question(document, arguments);
  tell(question.notes);
  const Deployments deployments = deployments_of(question);
  fmt::print("{}: ok (for weir plan: {} deployments, {} of them to run at most)\n", file,
             deployments.considered, deployments.all.size());
  return exit_done;
}

int check_study(const Json& document, const std::string& file) {
  const Study study = study_reader().read(document, file);
  fmt::print("{}: ok (for weir reproduce: {} rows)\n", file, study.ids().size());
  return exit_done;
}

int check(const std::string& argument) {
  const auto [file, document] = read_document(argument);
  if (is_study(document)) return check_study(document, file);
  if (is_plan_question(document)) return check_plan_question(document, file);
  return is_sweep(document) ? check_sweep(document, file) : check_scenario(document, file);
}

}  // namespace

std::function<int()> declare_check(CLI::App& app) {
  const auto file = std::make_shared<std::string>();
  const auto schema = std::make_shared<std::string>();
  const auto positional =
      app.add_option("FILE", *file, "a scenario, a sweep, a study or what weir plan is asked; - is stdin");
  const auto flag =
      app.add_option("--schema", *schema,
                     "print the JSON Schema of a scenario, a sweep or a study instead, for editors")
          ->type_name("scenario|sweep|study")
          ->expected(0, 1)
          ->default_str("scenario")
          ->check(CLI::IsMember({"scenario", "sweep", "study"}));
  positional->excludes(flag);
  return [file, schema, flag] {
    if (flag->count() > 0) {
      const Json text = *schema == "sweep"   ? sweep_schema()
                        : *schema == "study" ? study_reader().schema()
                                             : scenario_schema();
      fmt::print("{}\n", text.dump(2));
      return static_cast<int>(exit_done);
    }
    if (file->empty()) throw ConfigError("weir check", "", "expected a FILE, or --schema");
    return check(*file);
  };
}

}  // namespace weir
