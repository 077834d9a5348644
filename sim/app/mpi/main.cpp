// weir_mpi: what `weir sweep` becomes under mpirun. Every rank reads the sweep and runs points; rank 0 hands
// them out and alone writes results.
#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "sim/app/command_line.h"
#include "sim/app/mpi/ranks.h"
#include "sim/app/mpi/time_limit.h"

namespace weir {
namespace {

// Points go by their index: every rank must have read the same ones.
void compare_with_rank_0(const Sweep& sweep, int rank) {
  const std::string ours = fingerprint(sweep);
  std::string theirs = ours;
  MPI_Bcast(theirs.data(), static_cast<int>(theirs.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  if (ours != theirs)
    throw std::runtime_error(
        fmt::format("rank {} reads another sweep than rank 0 from {}", rank, sweep.file.string()));
}

int run_rank_0(const Sweep& sweep, const SweepArguments& arguments, PointServer& server) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Ranks all(server, ranks, std::max(1, arguments.jobs));
  int code = exit_bad_input;
  try {
    code = run_sweep(sweep, arguments, all.run_points());
  } catch (const ConfigError& e) {
    fmt::print(stderr, "{}\n", e.what());
  }
  std::fflush(stdout);
  if (code == exit_interrupted)
    std::_Exit(code);  // ranks may be dead already; mpirun ends those that are not
  if (!all.all_alive()) std::_Exit(code);
  return code;
}

int run_rank(const Sweep& sweep, const SweepArguments& arguments) try {
  PointServer server(work_of(sweep), limits_of(sweep));
  int rank = 0;
  {
    const TimeLimit limit("the meeting of all ranks in MPI_Init", exit_failed);
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);  // Interruption has a thread
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    compare_with_rank_0(sweep, rank);
  }
  int code = exit_done;
  if (rank == 0)
    code = run_rank_0(sweep, arguments, server);
  else if (!serve_rank_0(server))
    std::_Exit(code);
  const TimeLimit limit("the parting of all ranks in MPI_Finalize", code);
  MPI_Finalize();
  return code;
} catch (const std::exception& e) {
  fmt::print(stderr, "weir: {}\n", e.what());
  MPI_Abort(MPI_COMM_WORLD, exit_failed);
  return exit_failed;
}

int mpi_main(int argc, char** argv) try {
  CLI::App app("weir, as mpirun runs it: mpirun -n N weir sweep SWEEP --out DIR", "weir_mpi");
  app.require_subcommand(1);
  SweepArguments arguments;
  declare_sweep_arguments(*app.add_subcommand("sweep"), arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? exit_done : exit_bad_input;
  }
  complete(arguments);
  mpi_time_limit_s();  // a wrong one is told like any bad input
  const Sweep sweep = read_sweep(arguments.file);
  return run_rank(sweep, arguments);
} catch (const ConfigError& e) {
  let_rank_0_speak();
  fmt::print(stderr, "{}\n", e.what());
  return exit_bad_input;
} catch (const std::exception& e) {
  fmt::print(stderr, "weir: {}\n", e.what());
  return exit_failed;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  return weir::mpi_main(argc, argv);
}
