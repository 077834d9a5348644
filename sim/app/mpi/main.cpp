// weir_mpi: what a command that ranks share becomes under mpirun. Every rank reads its file and runs points;
// rank 0 hands them out and alone writes results.
#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "sim/app/command_line.h"
#include "sim/app/mpi/ranks.h"
#include "sim/app/mpi/time_limit.h"

namespace weir {
namespace {

// A command as its ranks see it.
struct SharedCommand {
  const Sweep& sweep;               // what they run points of
  int jobs;                         // of each rank; 0: not given
  std::function<int(Ranks&)> lead;  // the work of rank 0, to an exit code
};

// A point is what varies of what every rank has read.
void compare_with_rank_0(const Sweep& sweep, int rank) {
  const std::string ours = fingerprint(sweep);
  std::string theirs = ours;
  MPI_Bcast(theirs.data(), static_cast<int>(theirs.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  if (ours != theirs)
    throw std::runtime_error(
        fmt::format("rank {} does not read what rank 0 reads from {}", rank, sweep.file.string()));
}

int run_rank_0(const SharedCommand& command, PointServer& server) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Ranks all(server, command.sweep.points, ranks, std::max(1, command.jobs));
  int code = exit_bad_input;
  try {
    code = command.lead(all);
  } catch (const ConfigError& e) {
    fmt::print(stderr, "{}\n", e.what());
  }
  std::fflush(stdout);
  if (code == exit_interrupted)
    std::_Exit(code);  // ranks may be dead already; mpirun ends those that are not
  if (!all.all_alive()) std::_Exit(code);
  return code;
}

int run_rank(const SharedCommand& command) try {
  PointServer server(command.sweep);
  int rank = 0;
  {
    const TimeLimit limit("the meeting of all ranks in MPI_Init", exit_failed);
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);  // Interruption has a thread
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    compare_with_rank_0(command.sweep, rank);
  }
  int code = exit_done;
  if (rank == 0)
    code = run_rank_0(command, server);
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

int share_sweep(SweepArguments& arguments) {
  complete(arguments);
  const Sweep sweep = read_sweep(arguments.file);
  return run_rank({sweep, arguments.jobs, [&](Ranks& ranks) {
                     return run_sweep(sweep, arguments, ranks.run_points(AfterBatch::go_home));
                   }});
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
  mpi_time_limit_s();  // a wrong one is told like any bad input
  return share_sweep(arguments);
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
