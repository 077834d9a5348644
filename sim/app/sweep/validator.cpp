#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <thread>

#include "sim/app/child_process.h"
#include "sim/app/sweep/sweep_spec.h"
#include "sim/plan/plan.h"

namespace weir {
namespace {

// The router's notes and the tiers' are about what they find in the workload.
bool is_about_workload(const std::string& note) {
  return note.starts_with("/serving/routing") || note.find("/kv_cache/tiers:") != note.npos;
}

Findings findings_of(const Json& scenario, const std::string& file) try {
  Scenario read = read_plan(scenario, file).scenario;
  std::ranges::move(read.workload.notes, std::back_inserter(read.notes));
  return {{}, std::move(read.files), std::move(read.notes)};
} catch (const ConfigError& e) {
  return {e.problems(), {}, {}};
}

Json to_json(const Findings& found) {
  Json problems = Json::array();
  for (const Problem& p : found.problems) problems.push_back({p.pointer, p.what, p.misfit});
  Json files = Json::array();
  for (const std::filesystem::path& file : found.files) files.push_back(file.string());
  return {std::move(problems), std::move(files), found.notes};
}

Findings from_json(const Json& json) {
  Findings found;
  for (const Json& p : json[0]) found.problems.push_back({p[0], p[1], p[2]});
  for (const Json& file : json[1]) found.files.insert(file.get<std::string>());
  json[2].get_to(found.notes);
  return found;
}

// A child a core, each with every so many of the scenarios. What a child that dies was to find is found here:
// the reason is told where it belongs.
std::vector<Findings> on_all_cores(std::size_t count, const std::function<Findings(std::size_t)>& find) {
  constexpr std::size_t worth_a_child = 100;  // scenarios, at some 0.4 ms each
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t children = std::min(cores, count / worth_a_child);
  std::vector<Findings> found(count);
  const auto here = [&](std::size_t first, std::size_t step) {
    for (std::size_t i = first; i < count; i += step) found[i] = find(i);
  };
  if (children <= 1) {
    here(0, 1);
    return found;
  }
  in_children(
      children, static_cast<int>(children),
      [&](std::size_t child) {
        Json all = Json::array();
        for (std::size_t i = child; i < count; i += children) all.push_back(to_json(find(i)));
        return all.dump();
      },
      [&](std::size_t child, const ChildResult& result) {
        if (!result.error.empty()) {
          here(child, children);
          return true;
        }
        std::size_t i = child;
        for (const Json& each : parse_json(result.output, "findings")) {
          found[i] = from_json(each);
          i += children;
        }
        return true;
      });
  return found;
}

}  // namespace

std::string why_not_settable(const Json& document, const Json::json_pointer& pointer) {
  const Json* at = &document;
  std::vector<std::string> parts;
  for (Json::json_pointer p = pointer; !p.empty(); p.pop_back()) parts.insert(parts.begin(), p.back());
  for (const std::string& part : parts) {
    if (at->is_null()) return "";
    if (at->is_object()) {
      const auto it = at->find(part);
      if (it == at->end()) return "";
      at = &*it;
    } else if (at->is_array()) {
      const bool number =
          !part.empty() && part.size() < 9 && part.find_first_not_of("0123456789") == std::string::npos;
      const std::size_t index = number ? std::stoul(part) : at->size() + 1;
      if (index > at->size())
        return fmt::format("no such place in the scenario: a list of {} has no {}", at->size(), part);
      if (index == at->size()) return "";
      at = &(*at)[index];
    } else {
      return fmt::format("no such place in the scenario: {} lies in {}", part, at->dump().substr(0, 40));
    }
  }
  return "";
}

std::vector<Problem> ScenarioValidator::problems(const Json& scenario) {
  Findings found = find(scenario);
  keep(found);
  return std::move(found.problems);
}

std::vector<std::vector<Problem>> ScenarioValidator::problems(std::size_t count, const ScenarioAt& scenario) {
  std::vector<Findings> found(count);
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < count; ++i)
    if (const Json at = scenario(i); is_new_workload(at))
      found[i] = find(at);
    else
      others.push_back(i);
  std::vector<Findings> found_there =
      on_all_cores(others.size(), [&](std::size_t i) { return find(scenario(others[i])); });
  for (std::size_t i = 0; i < others.size(); ++i) found[others[i]] = std::move(found_there[i]);
  std::vector<std::vector<Problem>> problems;
  for (Findings& each : found) {
    keep(each);
    problems.push_back(std::move(each.problems));
  }
  return problems;
}

bool ScenarioValidator::is_new_workload(const Json& scenario) const {
  return scenario.contains("workload") && !workloads_.contains(scenario["workload"].dump());
}

Findings ScenarioValidator::find(Json scenario) {
  if (is_new_workload(scenario)) {
    Findings found = findings_of(scenario, file_);
    if (found.problems.empty()) workloads_.insert(scenario["workload"].dump());
    return found;
  }
  if (!scenario.contains("workload")) return findings_of(scenario, file_);
  static const Json one_request = parse_json(
      R"({"requests": {"kind": "fixed", "count": 1, "input_tokens": 1, "output_tokens": 1},
          "arrivals": {"kind": "all_at_once"}})",
      "");
  scenario["workload"].update(one_request);  // which neurons are active is the model's matter, too
  Findings found = findings_of(scenario, file_);
  std::erase_if(found.notes, is_about_workload);  // another one than was asked for
  return found;
}

void ScenarioValidator::keep(Findings& found) {
  files_.merge(found.files);
  for (std::string& note : found.notes)
    if (noted_.insert(note).second) notes_.push_back(std::move(note));
}

}  // namespace weir
