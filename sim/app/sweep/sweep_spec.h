#pragma once
// A sweep file as it was read (sweep_file.cpp), before points.cpp expands it. Nobody else includes this.
#include "sim/app/sweep/sweep.h"
#include "sim/app/sweep/validator.h"

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

constexpr std::size_t most_points = 100'000;  // a process each; a grid beyond that is a mistake

}  // namespace weir
