#pragma once
// weir sweep, once the points are known: runs those that have no result yet, one process each, and keeps what
// comes back. The process that calls this may never make a SimGrid Engine: points are forked from it.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sim/app/child_process.h"
#include "sim/app/sweep/sweep.h"
#include "sim/app/wrap.h"

namespace CLI {
class App;
}

namespace weir {

class Interruption;

struct SweepArguments {
  std::string file, out;
  int jobs = 0;  // points at once, of each MPI rank if there are several; 0: not given
  bool resume = false, quiet = false;
};
void declare_sweep_arguments(CLI::App& app, SweepArguments& arguments);
void complete(SweepArguments& arguments);  // sets the default of --out

// Runs in a point's own process; gives its summary.json, throws what went wrong.
using PointWork = std::function<std::string(std::size_t point)>;
PointWork work_of(const Sweep& sweep);  // run_point()
ChildLimits limits_of(const Sweep& sweep);
EndedPoint ended(ChildResult result);

// Where points run: in children of this process, or of MPI ranks (sim/app/mpi). Runs the points named, calls
// `ended` here as each one ends, in whatever order, and `go_on` several times a second: where that says no,
// it kills what runs and returns.
using RunPoints = std::function<void(const std::vector<std::size_t>& points,
                                     const std::function<void(std::size_t, const EndedPoint&)>& ended,
                                     const std::function<bool()>& go_on)>;
RunPoints in_local_children(PointWork work, const ChildLimits& limits, int jobs);

struct EndedOf {
  std::size_t ended, of, failed;
};
using ShowEnded = std::function<void(const EndedOf&)>;  // several times a second

// Runs those of the points, named by their places, that the store lacks, and keeps what comes back. Throws
// Interrupted.
void run_left(const Sweep& sweep, const std::vector<std::size_t>& points, ResultStore& store,
              const RunPoints& run_points, const Interruption& interruption, const ShowEnded& show);

// The whole of it, with the table at the end; an exit code.
int run_sweep(const Sweep& sweep, const SweepArguments& arguments, const RunPoints& run_points);

// For the terminal; `styled` only if stdout is one. Needs no more of the summaries than table_metrics().
// The table has the ten best of many configurations, and names `csv`, which has them all.
std::string sweep_table(const ResultSet& results, const std::string& csv, bool styled,
                        std::size_t width = unbounded);
std::vector<std::string> table_metrics();

}  // namespace weir
