// weir calibrate: fits a server's constants to what a load generator measured of it.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "sim/app/calibrate/report.h"
#include "sim/app/child_process.h"
#include "sim/app/command_line.h"
#include "sim/app/interruption.h"
#include "sim/app/output/place/result_file.h"
#include "sim/app/play.h"
#include "sim/app/shell/arguments.h"
#include "sim/app/wrap.h"
#include "sim/core/errors.h"
#include "sim/serving/simulation.h"

namespace weir {
namespace {

struct CalibrateArguments {
  std::vector<std::string> measured, scenarios;
  std::string out;
  int jobs = 0;
  bool quiet = false;
};

// One server: all of its replicas run one engine on one kind of device.
struct CalibratedServer {
  ReplicaSpec replica;
  std::string device;
  std::vector<bool> may_change;
  std::vector<std::string> notes;
  std::set<std::filesystem::path> files;  // that scenarios name

  ConstantValues start() const {
    ConstantValues values;
    for (const ServerConstant& constant : server_constants()) values.push_back(constant.of(replica));
    return values;
  }
};

CalibratedServer server_of(const CalibrationCase& one) {
  const std::string& file = one.file;
  const Plan plan = read_plan(one.scenario, file);
  std::vector<Problem> problems;
  CalibratedServer server;
  const std::vector<ReplicaPlan>& replicas = plan.replicas;
  if (replicas.empty()) throw ConfigError(file, "/serving", "expected replicas: they are what is calibrated");
  server.replica = replicas[0].spec;
  server.notes = plan.scenario.notes;
  server.files = plan.scenario.files;
  server.device = replicas[0].rank.on->spec().kind;
  for (const ReplicaPlan& replica : replicas)
    if (replica.spec.engine.kind != server.replica.engine.kind ||
        replica.spec.engine.version != server.replica.engine.version ||
        replica.rank.on->spec().kind != server.device) {
      problems.push_back({"/serving/replicas", "expected one engine on one kind of device"});
      break;
    }
  const Json& described = one.scenario.at("serving").at("replicas");
  for (const ServerConstant& constant : server_constants()) {
    bool given = false;
    for (const Json& replica : described)
      given |= replica.contains("engine") && replica["engine"].is_object() &&
               replica["engine"].contains(constant.key);
    server.may_change.push_back(!given);
  }
  for (std::size_t r = 0; r < described.size(); ++r)
    if (described[r].contains("engine") && !described[r]["engine"].value("calibration", Json()).is_null())
      problems.push_back({fmt::format("/serving/replicas/{}/engine/calibration", r),
                          "is what is fitted here: leave it out"});
  if (!problems.empty()) throw ConfigError(file, std::move(problems));
  if (!replicas[0].rank.on->reaching({}))  // host times alone
    for (std::size_t k = 0; k < server_constants().size(); ++k)
      if (std::string_view(server_constants()[k].key).ends_with("_efficiency")) server.may_change[k] = false;
  return server;
}

Json with_calibration(Json scenario, const Json& calibration) {
  for (Json& replica : scenario["serving"]["replicas"]) replica["engine"]["calibration"] = calibration;
  return scenario;
}

std::string times_of(const CalibrationCase& one, const Json& scenario) {
  const Plan plan = read_plan(scenario, one.file);
  const RunResult result = simulate(plan, {});
  const Metrics metrics = measure(result, plan.scenario.slo);
  Json times = Json::array();
  for (const Observation& seen : one.observations) {
    const double ms = simulated_ms(seen, result, metrics);
    times.push_back(std::isfinite(ms) ? Json(ms) : Json(nullptr));
  }
  return times.dump();
}

class Trials {
 public:
  Trials(const std::vector<CalibrationCase>& cases, const CalibratedServer& server, int jobs)
      : cases_(cases), server_(server), jobs_(jobs) {}

  CaseTimes operator()(const std::vector<CalibrationTrial>& trials) const {
    CaseTimes all(trials.size());
    std::string error;
    in_children(
        trials.size(), jobs_, [&](std::size_t t) { return run(trials[t]); },
        [&](std::size_t t, ChildResult ended) {
          if (!ended.error.empty()) error = cases_[trials[t].of].name + ": " + ended.error;
          if (error.empty())
            for (const Json& ms : parse_json(ended.output, "times"))
              all[t].push_back(ms.is_number() ? ms.get<double>() : std::numeric_limits<double>::quiet_NaN());
          return error.empty();
        });
    if (!error.empty()) throw std::runtime_error(error);
    return all;
  }

 private:
  std::string run(const CalibrationTrial& trial) const {
    const CalibrationCase& one = cases_[trial.of];
    return times_of(one, with_calibration(one.scenario, calibration_json(server_.replica, server_.device,
                                                                         trial.values, server_.may_change)));
  }

  const std::vector<CalibrationCase>& cases_;
  const CalibratedServer& server_;
  int jobs_;
};

// Each load as a fit to the others has it, and where there is one load each measurement; of a single one
// whose requests were measured, its second half as the first half has it. Empty where nothing can be left
// out.
void hold_out(const CalibrationFit& fit, CalibrationReport& report) {
  const std::vector<CalibrationCase>& cases = report.cases;
  if (cases.size() > 1) {
    const bool by_load = !one_load(cases);
    report.held_out_how =
        by_load ? "each load, by a fit to the others" : "each measurement, by a fit to the others";
    report.held_out.resize(cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (!report.held_out[i].empty()) continue;
      const auto stays = [&](std::size_t of) {
        return by_load ? cases[of].load() != cases[i].load() : of != i;
      };
      const CaseTimes times = fit.fitted_to([&](std::size_t of, std::size_t) { return stays(of); }).times;
      for (std::size_t of = i; of < cases.size(); ++of)
        if (!stays(of)) report.held_out[of] = times[of];
    }
    return;
  }
  const std::vector<Observation>& seen = cases[0].observations;
  std::size_t requests = 0;
  for (const Observation& each : seen) requests = std::max(requests, each.end);
  const auto in_first_half = [&](std::size_t, std::size_t o) {
    return !seen[o].of_all && 2 * seen[o].end <= requests;
  };
  std::size_t halves = 0;
  for (std::size_t o = 0; o < seen.size(); ++o) halves += in_first_half(0, o);
  if (halves == 0) return;
  report.held_out_how = "the second half of the requests, by a fit to the first";
  report.held_out = fit.fitted_to(in_first_half).times;
  for (std::size_t o = 0; o < seen.size(); ++o)
    if (in_first_half(0, o)) report.held_out[0][o] = std::numeric_limits<double>::quiet_NaN();
}

void check_times(const std::vector<CalibrationCase>& cases, const CaseTimes& times) {
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (std::ranges::any_of(times[i], [](double ms) { return !std::isfinite(ms); }))
      problems.push_back(
          {"", cases[i].name + ": in the simulation requests that were measured do not complete"});
  if (!problems.empty()) throw ConfigError("weir calibrate", std::move(problems));
}

// Each note once, as loads share most of theirs; and the scenario's requests, where measurements list their
// own.
void tell_notes(const std::vector<Document>& scenarios, const std::vector<CalibrationCase>& cases,
                const std::vector<std::string>& notes) {
  const auto replaces = [&](const Document& scenario) {
    const Json own = scenario.json.value(Json::json_pointer("/workload/requests/kind"), Json());
    return !own.is_null() && std::ranges::any_of(cases, [&](const CalibrationCase& one) {
      return one.file == scenario.file && one.scenario["workload"]["requests"]["kind"] != own;
    });
  };
  if (std::ranges::any_of(scenarios, replaces))
    fmt::print(stderr, "note: /workload/requests: is not used where a measurement lists its requests\n");
  for (const CalibrationCase& one : cases)
    for (const std::string& note : one.notes) fmt::print(stderr, "note: {}: {}\n", one.name, note);
  tell(notes);
}

// A server has one model, one precision and one cut, whatever limits it was started with.
Json built_as(const CalibrationCase& one) {
  Json parts = {one.scenario.value("model", Json()), one.scenario.value("precision", Json())};
  for (const Json& replica : one.scenario["serving"]["replicas"])
    parts.push_back(replica.value("parallelism", Json()));
  return parts;
}

// The first case's server, which has to be that of each other; `notes` of all.
CalibratedServer one_server(const std::vector<CalibrationCase>& cases, std::vector<std::string>& notes) {
  const CalibratedServer first = server_of(cases[0]);
  for (const CalibrationCase& one : cases) {
    const CalibratedServer server = server_of(one);
    if (server.device != first.device || server.replica.engine.kind != first.replica.engine.kind ||
        server.replica.engine.version != first.replica.engine.version)
      throw ConfigError(
          one.file, "/serving/replicas",
          fmt::format("expected {} {} on {}, as in {}: one server is calibrated", first.replica.engine.kind,
                      first.replica.engine.version, first.device, cases[0].file));
    if (built_as(one) != built_as(cases[0]))
      throw ConfigError(
          one.file, "",
          "expected the model, precision and parallelism of " + cases[0].file + ": one server is calibrated");
    if (server.may_change != first.may_change || server.start() != first.start())
      throw ConfigError(one.file, "/serving/replicas",
                        "expected the constants of its engine as in " + cases[0].file);
    for (const std::string& note : server.notes)
      if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
  }
  return first;
}

bool is_calibration(const std::filesystem::path& file) try {
  const Json json = read_json_file(file);
  return json.is_object() && json.value("format", Json()) == calibration_format;
} catch (const ConfigError&) {
  return false;
}

// The constants' place, which is none of what is read.
ResultFile constants_of(const CalibrateArguments& a, const CalibratedServer& server) {
  ResultFile file{
      a.out, "constants of weir calibrate", is_calibration, {server.files.begin(), server.files.end()}};
  for (const auto& inputs : {a.measured, a.scenarios})
    file.inputs.insert(file.inputs.end(), inputs.begin(), inputs.end());
  return file;
}

int calibrate(const CalibrateArguments& a) {
  constants_of(a, {}).check();
  std::vector<Document> scenarios;
  for (const std::string& scenario : a.scenarios) scenarios.push_back(read_document(scenario));
  const std::vector<CalibrationCase> cases = read_cases(a.measured, scenarios);
  std::vector<std::string> notes;
  const CalibratedServer server = one_server(cases, notes);
  const ResultFile to = constants_of(a, server);
  to.check();
  if (!a.quiet) tell_notes(scenarios, cases, notes);
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const ConstantValues start = server.start();
  const CalibrationFit fit(cases, start, server.may_change,
                           Trials(cases, server, a.jobs > 0 ? a.jobs : cores));
  check_times(cases, fit.before());
  const FittedServer fitted = fit.fitted_to(every_observation);
  CalibrationReport report{cases, fit.before(), fitted, start, server.may_change, {}, ""};
  hold_out(fit, report);
  if (!a.quiet) fmt::print("{}", calibration_table(report, terminal_width(STDOUT_FILENO)));
  if (const std::string why = report.refusal(); !why.empty()) {
    fmt::print(stderr, "weir: nothing is written: {}\n", why);
    return exit_incomplete;
  }
  Json calibration = calibration_json(server.replica, server.device, fitted.values, fitted.is_fitted);
  calibration["fitted"] = fitted_json(report);
  const Interruption interruption;
  const auto lock = to.lock();
  to.write([&](OutputFile& file) { file.text(calibration.dump(2) + "\n"); });
  if (!a.quiet)
    fmt::print(stderr, "written: {}; a scenario names it at /serving/replicas/0/engine/calibration\n", a.out);
  return exit_done;
}

}  // namespace

std::function<int()> declare_calibrate(CLI::App& app) {
  const auto a = std::make_shared<CalibrateArguments>();
  app.add_option(
         "MEASURED.json", a->measured,
         "results of vLLM's or SGLang's benchmark, AIPerf, genai-perf, GuideLLM, inference-perf, LLMPerf or "
         "trtllm-bench of one server, at one load or several")
      ->required();
  app.add_option("--scenario", a->scenarios,
                 "the server; loads and lengths are the measurements', where they say them; given once for "
                 "each measurement, in their order, where the server ran under other limits in each")
      ->required()
      ->allow_extra_args(false)
      ->type_name("SCENARIO.json");
  app.add_option("--out", a->out, "file for the constants, which engine.calibration of a scenario names")
      ->required()
      ->type_name("calibration.json");
  app.add_option("--jobs", a->jobs, "simulations at once (default: one a core)")
      ->type_name("N")
      ->check(whole_number(1, 4096));
  app.add_flag("--quiet", a->quiet, "print nothing but errors");
  return [a] { return calibrate(*a); };
}

}  // namespace weir
