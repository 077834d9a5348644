#include "sim/app/sweep/sweep_spec.h"
#include "sim/plan/plan.h"

#include <fmt/format.h>

namespace weir {
namespace {

// The router's notes and the tiers' are about what they find in the workload.
bool is_about_workload(const std::string& note) {
  return note.starts_with("/serving/routing") || note.find("/kv_cache/tiers:") != note.npos;
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

const std::vector<Problem>& ScenarioValidator::problems(Json scenario) {
  if (!scenario.contains("workload")) return remember(scenario, false);
  const std::string workload = scenario["workload"].dump();
  const bool seen = workloads_.contains(workload);
  if (seen) {
    static const Json one_request = parse_json(
        R"({"requests": {"kind": "fixed", "count": 1, "input_tokens": 1, "output_tokens": 1},
            "arrivals": {"kind": "all_at_once"}})",
        "");
    scenario["workload"].update(one_request);  // which neurons are active is the model's matter, too
  }
  const std::vector<Problem>& found = remember(scenario, seen);
  if (found.empty() && !seen) workloads_.insert(workload);
  return found;
}

// With `another_workload` than was asked for: notes on what is found in the workload are not on that.
const std::vector<Problem>& ScenarioValidator::remember(const Json& scenario, bool another_workload) {
  static const std::vector<Problem> none;
  const std::string text = scenario.dump();
  const std::size_t hash = std::hash<std::string>()(text);
  if (right_.contains(hash)) return none;
  if (const auto seen = wrong_.find(text); seen != wrong_.end()) return seen->second;
  try {
    Scenario read = read_plan(scenario, file_).scenario;
    named_.merge(read.files);
    for (std::vector<std::string>* notes : {&read.notes, &read.workload.notes})
      for (std::string& note : *notes)
        if (!(another_workload && is_about_workload(note)) && noted_.insert(note).second)
          notes_.push_back(std::move(note));
    right_.insert(hash);
    return none;
  } catch (const ConfigError& e) {
    return wrong_[text] = e.problems();
  }
}

}  // namespace weir
