// weir sweep: every point of a sweep file, on this machine or under mpirun on many.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <future>
#include <thread>

#include "sim/app/command_line.h"
#include "sim/app/sweep/runner.h"

namespace weir {
namespace {

// Set by mpirun and by srun --mpi=pmix for each rank.
bool under_mpi() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMIX_RANK");
}

// An executable of its own, because loading libmpi would cost every other command its start-up time.
[[noreturn]] void become_weir_mpi(const SweepArguments& a) {
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "weir_mpi";
  std::vector<std::string> words = {program.string(), a.file, "--out", a.out};
  if (a.jobs > 0) words.insert(words.end(), {"--jobs", std::to_string(a.jobs)});
  if (a.resume) words.push_back("--resume");
  if (a.quiet) words.push_back("--quiet");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  throw ConfigError(
      "weir sweep", "",
      fmt::format("was started by mpirun, which needs {}: it is built where OpenMPI is installed "
                  "(libopenmpi-dev)",
                  program.string()));
}

int sweep(SweepArguments arguments) {
  if (arguments.out.empty()) arguments.out = ("out" / std::filesystem::path(arguments.file).stem()).string();
  if (under_mpi()) become_weir_mpi(arguments);
  // On a thread, that is in a heap of its own: thousands of scenarios that come and go riddle it with holes,
  // and a child that fills these copies a page for each.
  const Sweep points = std::async(std::launch::async, read_sweep, arguments.file).get();
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return run_sweep(
      points, arguments,
      in_local_children(work_of(points), limits_of(points), arguments.jobs > 0 ? arguments.jobs : cores));
}

}  // namespace

void declare_sweep_arguments(CLI::App& app, SweepArguments& a) {
  app.add_option("SWEEP", a.file, "sweep file (JSON)")->required();
  app.add_option(
         "--out", a.out,
         "directory for the results, replaced whole unless --resume is given (default: out/<file's stem>)")
      ->type_name("DIR");
  app.add_option("--jobs", a.jobs, "points run at once (default: one a core; under mpirun: one a rank)")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  app.add_flag("--resume", a.resume, "run only the points that DIR lacks or that failed there");
  app.add_flag("--quiet", a.quiet, "print nothing but errors");
}

std::function<int()> declare_sweep(CLI::App& app) {
  const auto a = std::make_shared<SweepArguments>();
  declare_sweep_arguments(app, *a);
  return [a] { return sweep(*a); };
}

}  // namespace weir
