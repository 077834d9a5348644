// weir sweep: every point of a sweep file, on this machine; on many, under mpirun, it is weir_mpi.
#include <CLI/CLI.hpp>
#include <future>
#include <thread>

#include "sim/app/command_line.h"
#include "sim/app/shell/arguments.h"
#include "sim/app/sweep/runner.h"

namespace weir {
namespace {

int sweep(SweepArguments arguments) {
  complete(arguments);
  // On a thread, that is in a heap of its own: thousands of scenarios that come and go riddle it with holes,
  // and a child that fills these copies a page for each.
  const Sweep points = std::async(std::launch::async, read_sweep, arguments.file).get();
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return run_sweep(
      points, arguments,
      in_local_children(work_of(points), limits_of(points), arguments.jobs > 0 ? arguments.jobs : cores));
}

}  // namespace

void complete(SweepArguments& a) {
  if (a.out.empty()) a.out = ("out" / std::filesystem::path(a.file).stem()).string();
}

void declare_sweep_arguments(CLI::App& app, SweepArguments& a) {
  app.add_option("SWEEP", a.file, "sweep file (JSON)")->required();
  app.add_option(
         "--out", a.out,
         "directory for the results, replaced whole unless --resume is given (default: out/<file's stem>)")
      ->type_name("DIR");
  app.add_option("--jobs", a.jobs, "points run at once (default: one a core; under mpirun: one a rank)")
      ->type_name("N")
      ->check(whole_number(1, 4096));
  app.add_flag("--resume", a.resume, "run only the points that DIR lacks or that failed there");
  app.add_flag("--quiet", a.quiet, "print nothing but errors");
}

std::function<int()> declare_sweep(CLI::App& app) {
  const auto a = std::make_shared<SweepArguments>();
  declare_sweep_arguments(app, *a);
  return [a] { return sweep(*a); };
}

}  // namespace weir
