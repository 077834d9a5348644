// weir_mpi: what `weir sweep` becomes under mpirun. Every rank reads the sweep and runs points; rank 0 hands
// them out, one by one as ranks get free, and alone writes results. A rank sleeps between messages: MPI's own
// waiting would burn the core that the points need.
#include <fmt/format.h>
#include <mpi.h>
#include <poll.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <optional>

#include "sim/app/command_line.h"
#include "sim/app/mpi/point_server.h"
#include "sim/app/sweep/runner.h"

namespace weir {
namespace {

enum Tag { assignment, result };
constexpr std::int64_t no_more = -1;

class Waiting {  // ever longer while nothing happens, up to 5 ms
 public:
  bool wait_for(int descriptor) {
    pollfd one{descriptor, POLLIN, 0};
    const timespec time{0, nanoseconds_};
    const bool ready = ::ppoll(&one, 1, &time, nullptr) > 0;
    nanoseconds_ = ready ? shortest : std::min(2 * nanoseconds_, 5'000'000L);
    return ready;
  }
  void something_happened() { nanoseconds_ = shortest; }

 private:
  static constexpr long shortest = 100'000;
  long nanoseconds_ = shortest;
};

std::optional<MPI_Status> message(int source, Tag tag) {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(source, tag, MPI_COMM_WORLD, &there, &status);
  if (!there) return {};
  return status;
}

void assign(int rank, std::int64_t point) {
  MPI_Send(&point, 1, MPI_INT64_T, rank, assignment, MPI_COMM_WORLD);
}

std::string receive_result(const MPI_Status& status) {
  int size = 0;
  MPI_Get_count(&status, MPI_CHAR, &size);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  MPI_Recv(bytes.data(), size, MPI_CHAR, status.MPI_SOURCE, result, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return bytes;
}

// Rank 0: itself one of those that run points, by its own server.
RunPoints on_all_ranks(PointServer& server, int ranks, int jobs) {
  return [&server, ranks, jobs](const auto& points, const auto& when_ended, const auto& go_on) {
    std::size_t next = 0, left = points.size();
    const auto give = [&](int rank) {
      if (next == points.size()) return;
      const std::size_t point = points[next++];
      rank == 0 ? server.start(point) : assign(rank, static_cast<std::int64_t>(point));
    };
    const auto take = [&](const std::string& bytes, int rank) {
      give(rank);  // before the result is written: the rank shall not wait for that
      const auto [point, ended_point] = unpacked(bytes);
      when_ended(point, ended_point);
      --left;
    };
    for (int i = 0; i < jobs; ++i)
      for (int rank = 0; rank < ranks; ++rank) give(rank);
    Waiting waiting;
    while (left > 0 && go_on()) {
      if (waiting.wait_for(server.results())) take(server.take(), 0);
      while (const auto status = message(MPI_ANY_SOURCE, result)) {
        take(receive_result(*status), status->MPI_SOURCE);
        waiting.something_happened();
      }
    }
  };
}

void serve_rank_0(PointServer& server) {
  Waiting waiting;
  while (true) {
    while (message(0, assignment)) {
      std::int64_t point = 0;
      MPI_Recv(&point, 1, MPI_INT64_T, 0, assignment, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (point == no_more) return;
      server.start(static_cast<std::size_t>(point));
      waiting.something_happened();
    }
    if (!waiting.wait_for(server.results())) continue;
    const std::string bytes = server.take();
    MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_CHAR, 0, result, MPI_COMM_WORLD);
  }
}

// Points go by their index: every rank must have read the same ones.
void compare_with_rank_0(const Sweep& sweep, int rank) {
  const std::string ours = fingerprint(sweep);
  std::string theirs = ours;
  MPI_Bcast(theirs.data(), static_cast<int>(theirs.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  if (ours != theirs)
    throw std::runtime_error(
        fmt::format("rank {} reads another sweep than rank 0 from {}", rank, sweep.file.string()));
}

int run_rank_0(const Sweep& sweep, const SweepArguments& arguments, PointServer& server, int ranks,
               int jobs) {
  const auto end = [&] {
    for (int rank = 1; rank < ranks; ++rank) assign(rank, no_more);
  };
  try {
    const int code = run_sweep(sweep, arguments, on_all_ranks(server, ranks, jobs));
    if (code == exit_interrupted) std::_Exit(code);  // ranks may be dead already; mpirun ends what is not
    end();
    return code;
  } catch (const ConfigError& e) {
    fmt::print(stderr, "{}\n", e.what());
    end();
    return exit_bad_input;
  }
}

int run_rank(const Sweep& sweep, const SweepArguments& arguments) try {
  const int jobs = std::max(1, arguments.jobs);
  PointServer server(work_of(sweep), limits_of(sweep));
  int provided = 0, rank = 0, ranks = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);  // Interruption has a thread
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  compare_with_rank_0(sweep, rank);
  int code = exit_done;
  if (rank == 0)
    code = run_rank_0(sweep, arguments, server, ranks, jobs);
  else
    serve_rank_0(server);
  MPI_Finalize();
  return code;
} catch (const std::exception& e) {
  fmt::print(stderr, "weir: {}\n", e.what());
  MPI_Abort(MPI_COMM_WORLD, exit_failed);
  return exit_failed;
}

bool is_first_rank() {  // before MPI_Init
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"})
    if (const char* rank = std::getenv(name)) return std::string(rank) == "0";
  return true;
}

int mpi_main(int argc, char** argv) try {
  CLI::App app("weir sweep, as mpirun runs it: mpirun -n N weir sweep SWEEP --out DIR", "weir_mpi");
  SweepArguments arguments;
  declare_sweep_arguments(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? exit_done : exit_bad_input;
  }
  const Sweep sweep = read_sweep(arguments.file);
  return run_rank(sweep, arguments);
} catch (const ConfigError& e) {
  if (is_first_rank()) fmt::print(stderr, "{}\n", e.what());  // once is enough
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
