// weir_mpi: what a command that ranks share becomes under mpirun. Every rank reads its file and runs points;
// rank 0 hands them out and alone writes results.
#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "sim/app/command_line.h"
#include "sim/app/mpi/ranks.h"
#include "sim/app/mpi/time_limit.h"
#include "sim/app/plan/plan_run.h"
#include "sim/core/memory/out_of_memory.h"

namespace weir {
namespace {

// A command as its ranks see it.
struct SharedCommand {
  const Sweep& sweep;               // its points are run
  int jobs;                         // points that a rank runs at once; 0: not given
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
  if (code >= exit_interrupted || !all.all_alive()) {  // then ranks may be dead, or amid their points
    all.part_at_once();
    std::_Exit(code);
  }
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
  fmt::print(stderr, "weir: {}\n", words_of_error(e));
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

// Rank 0 alone finds the deployments.
int share_plan(PlanArguments& arguments) {
  if (arguments.file == "-" && under_mpi())
    throw ConfigError("weir plan", "", "every rank of mpirun reads the scenario: expected a file, not stdin");
  const std::unique_ptr<PlannedSweep> plan = asked_plan(arguments);
  return run_rank({plan->sweep, arguments.jobs, [&](Ranks& ranks) {
                     add_deployments(*plan);
                     return run_plan(*plan, arguments, ranks.run_points(AfterBatch::wait));
                   }});
}

int mpi_main(int argc, char** argv) try {
  CLI::App app("weir, as mpirun runs it: mpirun -n N weir sweep|plan FILE --out DIR", "weir_mpi");
  app.require_subcommand(1);
  SweepArguments of_sweep;
  declare_sweep_arguments(*app.add_subcommand("sweep"), of_sweep);
  PlanArguments of_plan;
  declare_plan_arguments(*app.add_subcommand("plan"), of_plan);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? exit_done : exit_bad_input;
  }
  mpi_time_limit_s();  // a wrong one is told like any bad input
  return app.got_subcommand("plan") ? share_plan(of_plan) : share_sweep(of_sweep);
} catch (const ConfigError& e) {
  let_rank_0_speak();
  fmt::print(stderr, "{}\n", e.what());
  return exit_bad_input;
} catch (const std::exception& e) {
  fmt::print(stderr, "weir: {}\n", words_of_error(e));
  return exit_failed;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  return weir::mpi_main(argc, argv);
}
