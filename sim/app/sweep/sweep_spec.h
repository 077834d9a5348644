#pragma once
// A sweep file as it was read (sweep_file.cpp), before points.cpp expands it. Nobody else includes this.
#include <functional>
#include <set>
#include <unordered_set>

#include "sim/app/sweep/sweep.h"

namespace weir {

struct SweepAxis {  // of the grid: values that go together
  std::vector<std::string> pointers;
  std::vector<std::vector<Json>> choices;  // [choice][pointer]
  std::vector<std::string> given_at;       // where in the sweep file, one a pointer
};

struct SweepSpec {
  Sweep sweep;                   // all but its points
  bool scenario_inside = false;  // the sweep file, instead of a file of its own
  std::vector<SweepAxis>
      axes;  // of vary, then of zip, each in the file's order; then layouts, then seeds, fastest of all
  bool layouts = false;
  std::optional<SweepAxis> seeds;
  std::vector<std::string> where;
  bool skip_invalid = false;
};

SweepSpec read_sweep_spec(Params& params);
void read_axes(Params& params, SweepSpec& spec);  // axes.cpp: vary, zip and seeds

// Sets the points, what is left out, and the pointers that vary; reports what is wrong with them.
void expand(SweepSpec& spec, Reading& reading);

// layouts.cpp: every way to put replica group 0 on all devices that the other groups leave. The pointers are
// those of tensor, pipeline, expert and count.
SweepAxis layouts_of(const Json& scenario, const std::filesystem::path& scenario_file);
// Is this what is wrong with a layout, rather than with the rest of the scenario?
bool speaks_of_layout(const Problem& problem);

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

constexpr std::size_t most_points = 100'000;  // a process each; a grid beyond that is a mistake

std::string escaped(const std::string& key);  // as a part of a JSON pointer: ~1 for /

}  // namespace weir
