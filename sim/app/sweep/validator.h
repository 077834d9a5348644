#pragma once
// Finds what is wrong with the scenarios of points before any of them runs.
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "sim/core/params.h"

namespace weir {

// Why `pointer` cannot be set in `document`; "" if it can. Objects on the way are made, list items are not,
// but for one at the end.
std::string why_not_settable(const Json& document, const Json::json_pointer& pointer);

struct Findings {  // on a scenario; files and notes of a right one
  std::vector<Problem> problems;
  std::set<std::filesystem::path> files;
  std::vector<std::string> notes;
};

// Reads scenarios for their problems (validator.cpp). Reading the requests takes nearly all of the time, and
// what is wrong with them does not depend on the rest: each workload is read once.
class ScenarioValidator {
 public:
  using ScenarioAt = std::function<Json(std::size_t)>;

  explicit ScenarioValidator(std::string file) : file_(std::move(file)) {}
  std::vector<Problem> problems(const Json& scenario);
  // The problems of scenario(0) to scenario(count - 1), found on all cores.
  std::vector<std::vector<Problem>> problems(std::size_t count, const ScenarioAt& scenario);
  const std::set<std::filesystem::path>& files() const { return files_; }  // named by right scenarios
  const std::vector<std::string>& notes() const { return notes_; }         // on them, in their order

 private:
  bool is_new_workload(const Json& scenario) const;
  Findings find(Json scenario);
  void keep(Findings& found);
  std::string file_;
  std::set<std::string> workloads_;  // right ones
  std::set<std::filesystem::path> files_;
  std::vector<std::string> notes_;
  std::unordered_set<std::string> noted_;
};

std::string escaped(const std::string& key);  // as a part of a JSON pointer: ~1 for /

}  // namespace weir
