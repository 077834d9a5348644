#include "sim/app/plan/question.h"
#include "sim/app/document.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/app/sweep/sweep.h"
#include "sim/plan/plan.h"

namespace weir {
namespace {

const Json& at(const Json& object, const char* key) {
  static const Json nothing;
  const auto it = object.is_object() ? object.find(key) : object.end();
  return it != object.end() ? *it : nothing;
}

std::vector<std::int64_t> given_degree(const Json& parallelism, const char* key,
                                       const std::vector<std::int64_t>& allowed) {
  const Json& given = at(parallelism, key);
  return given.is_number_integer() ? std::vector{given.get<std::int64_t>()} : allowed;
}

RoleTemplate template_of(const std::string& role, Json replica, const AllowedByPlan& plan) {
  RoleTemplate made{role, {}, {}, {}, {}};
  const Json cut = at(replica, "parallelism");
  made.degrees = {given_degree(cut, "tensor", plan.degrees.tensor),
                  given_degree(cut, "pipeline", plan.degrees.pipeline),
                  given_degree(cut, "expert", plan.degrees.expert),
                  given_degree(cut, "attention_data", plan.degrees.attention_data)};
  if (at(replica, "count").is_number_integer()) made.most = replica["count"].get<std::int64_t>();
  if (at(replica, "device").is_string()) made.device = replica["device"].get<std::string>();
  for (const char* key : {"role", "count", "device"}) replica.erase(key);
  for (const char* key : {"tensor", "pipeline", "expert", "attention_data"})
    if (cut.is_object()) replica["parallelism"].erase(key);
  made.replica = std::move(replica);
  return made;
}

// A replica of no role is one of any.
std::vector<RoleTemplate> roles_of(const Json& replicas, const AllowedByPlan& plan, Reading& reading) {
  std::vector<RoleTemplate> roles;
  for (std::size_t i = 0; replicas.is_array() && i < replicas.size(); ++i) {
    if (!replicas[i].is_object()) continue;  // the trial says so
    const Json& role = at(replicas[i], "role");
    const std::vector<std::string> of = role.is_string()
                                            ? std::vector{role.get<std::string>()}
                                            : std::vector<std::string>{"both", "prefill", "decode"};
    for (const std::string& one : of)
      if (std::ranges::find(roles, one, &RoleTemplate::role) != roles.end())
        reading.problem(
            fmt::format("/serving/replicas/{}", i),
            fmt::format("is the second that may have role {}: a plan makes as many as it needs of one", one));
      else
        roles.push_back(template_of(one, replicas[i], plan));
  }
  if (roles.empty())
    for (const char* one : {"both", "prefill", "decode"})
      roles.push_back(template_of(one, Json::object(), plan));
  return roles;
}

// "weights=fp8,activations=fp8" over what the scenario has.
Json with_words(Json precision, const std::string& words, Reading& reading) {
  if (!precision.is_object()) precision = Json::object();
  for (std::size_t from = 0; from <= words.size();) {
    const std::size_t end = std::min(words.find(',', from), words.size());
    const std::string one = words.substr(from, end - from);
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == one.size())
      reading.problem("--precision",
                      fmt::format("expected KEY=TYPE, such as weights=fp8, got {}", shortened(one, 60)));
    else
      precision[one.substr(0, equals)] = one.substr(equals + 1);
    from = end + 1;
  }
  return precision;
}

std::vector<Json> precisions_of(const Json& scenario, const AllowedByPlan& plan,
                                const PlanArguments& arguments, Reading& reading) {
  const Json own = scenario.value("precision", Json::object());
  std::vector<Json> all = {own};
  for (const Json& other : plan.precisions) {
    Json whole = own.is_object() ? own : Json::object();
    whole.update(other);
    all.push_back(std::move(whole));
  }
  for (const std::string& words : arguments.precisions) all.push_back(with_words(own, words, reading));
  std::vector<Json> once;
  for (Json& one : all)
    if (std::ranges::find(once, one) == once.end()) once.push_back(std::move(one));
  return once;
}

bool is_of_layout(const Problem& problem) {
  const std::string group = "/serving/replicas/";
  if (problem.misfit) return true;
  if (!problem.pointer.starts_with(group) || problem.what.starts_with("no such")) return false;
  const std::size_t slash = problem.pointer.find('/', group.size());
  const std::string below = slash == std::string::npos ? "" : problem.pointer.substr(slash);
  return below.empty() || below.starts_with("/parallelism") || below.starts_with("/communication");
}

// Reads one replica of each given group, for what is wrong whatever the layout, and again with each of what
// the plan allows instead.
class TryOut {
 public:
  TryOut(PlanQuestion& question, const Json& replicas, Reading& reading)
      : question_(question), reading_(reading), trial_(question.scenario) {
    trial_["precision"] = question.precisions.front();
    trial_["serving"]["replicas"] = replicas.is_null() ? Json::array({Json::object()}) : replicas;
  }

  void run() {
    read(trial_, "");
    for (const Json& precision : question_.precisions) {
      Json other = trial_;
      other["precision"] = precision;
      read(other, precision.dump());
    }
    const Json::json_pointer first("/serving/replicas/0");
    if (!trial_.contains(first) || !trial_[first].is_object()) return;
    for (const Json& tiers : question_.tiers) {
      Json other = trial_;
      other[first]["kv_cache"]["tiers"] = tiers;
      read(other, tiers.dump());
    }
    for (const std::string& communication : question_.communications) {
      Json other = trial_;
      other[first]["communication"] = communication;
      read(other, communication);
    }
  }

 private:
  void read(const Json& scenario, const std::string& allowed) {
    try {
      Scenario read = read_plan(scenario, question_.file).scenario;
      question_.files.merge(read.files);
    } catch (const ConfigError& e) {
      for (const Problem& problem : e.problems())
        if (!is_of_layout(problem) && told_.insert(problem.pointer + problem.what).second)
          reading_.problem(
              problem.pointer,
              problem.what +
                  (allowed.empty() ? "" : fmt::format(" (of {}, which the plan allows)", allowed)));
    }
  }

  PlanQuestion& question_;
  Reading& reading_;
  Json trial_;
  std::set<std::string> told_;
};

void read_slo(const Json& scenario, PlanQuestion& question, Reading& reading) {
  const Json& slo = at(scenario, "slo");
  const auto number = [&](const char* key) {
    const Json& given = at(slo, key);
    return given.is_number() ? std::optional(given.get<double>()) : std::nullopt;
  };
  question.slo.ttft_ms = number("ttft_ms");
  question.slo.tpot_ms = number("tpot_ms");
  if (!question.slo.ttft_ms && !question.slo.tpot_ms)
    reading.problem("/slo", "a plan needs what is promised: ttft_ms, tpot_ms, or both");
}

void read_objective(const std::string& name, PlanQuestion& question, Reading& reading) {
  const auto known = names_of(objectives());
  if (std::ranges::find(known, name) == known.end())
    reading.problem("--objective", no_such("objective", name, known));
  else
    question.objective = objective_of(name);
}

void read_demand(PlanQuestion& question, Reading& reading) {
  Params params(reading, question.scenario);
  const auto seed = static_cast<std::uint64_t>(
      params.integer({"seed", "Of the requests."}, {0}, static_cast<std::int64_t>(Scenario::usual_seed)));
  const Workload workload = read_workload(params.object({"workload", "Who asks."}), seed);
  question.demand = demand_of(workload, question.slo.percentile);
  question.notes = workload.notes;
  question.files.insert(reading.files().begin(), reading.files().end());
  params.close_ignoring_rest();
  const Architecture model = read_model(at(question.scenario, "model"), reading, "/model");
  question.experts = model.most_experts() > 0;
  if (question.name.empty()) question.name = model.name;
  if (question.demand.requests == 0) reading.problem("/workload", "no request is measured");
}

AllowedByPlan read_allowed(const Json& document, Reading& reading) {
  const Json holder = {{"plan", document.value("plan", Json::object())}};
  Params params(reading, holder);
  AllowedByPlan allowed =
      read_params<AllowedByPlan>(params.object({"plan", "What weir plan may choose from."}));
  params.close();
  return allowed;
}

}  // namespace

const RoleTemplate* PlanQuestion::role(const std::string& name) const {
  const auto found = std::ranges::find(roles, name, &RoleTemplate::role);
  return found == roles.end() ? nullptr : &*found;
}

bool is_plan_question(const Json& document) {
  return document.is_object() && document.contains("plan");
}

PlanQuestion read_question(const Json& document, const PlanArguments& arguments) {
  refuse_study(document, arguments.file);
  if (is_sweep(document))
    throw ConfigError(arguments.file, "", fmt::format("this is a sweep: weir sweep {}", arguments.file));
  if (!document.is_object()) throw ConfigError(arguments.file, "", "expected an object");
  Reading reading(arguments.file);
  const AllowedByPlan allowed = read_allowed(document, reading);
  PlanQuestion question;
  question.file = arguments.file;
  question.scenario = document;
  question.objective = objectives().front();
  question.scenario.erase("plan");
  question.top = arguments.top;
  if (at(document, "name").is_string()) question.name = document["name"];
  question.slo.percentile = allowed.percentile;
  const std::string devices = arguments.devices.empty() ? allowed.devices : arguments.devices;
  const bool has_nodes = at(at(document, "cluster"), "nodes").is_array();
  if (!devices.empty()) question.stock = read_stock(devices, reading);
  if (devices.empty() && !has_nodes)
    reading.problem("--devices", "required where the scenario has no cluster: 16xh100_sxm, say");
  question.scenario["cluster"] = cluster_of(at(document, "cluster"), question.stock, reading);
  const std::string objective = arguments.objective.empty() ? allowed.objective : arguments.objective;
  if (!objective.empty()) read_objective(objective, question, reading);
  read_slo(document, question, reading);
  const Json replicas = at(at(document, "serving"), "replicas");
  question.roles = roles_of(replicas, allowed, reading);
  question.precisions = precisions_of(document, allowed, arguments, reading);
  question.communications = allowed.communications;
  question.tiers = allowed.tiers;
  if (question.scenario.contains("serving") && question.scenario["serving"].is_object())
    question.scenario["serving"].erase("replicas");
  const bool kinds_known = !reading.failed();
  if (kinds_known || has_nodes) TryOut(question, replicas, reading).run();
  if (!reading.failed()) read_demand(question, reading);
  reading.finish();
  return question;
}

}  // namespace weir
