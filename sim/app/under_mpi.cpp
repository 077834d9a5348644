// A process that mpirun started, as long as it has not met the others: what it knows is in its environment.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "sim/app/command_line.h"
#include "sim/core/errors.h"

namespace weir {
namespace {

// By Open MPI's mpirun, and by srun --mpi=pmix.
const char* rank_given() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"})
    if (const char* rank = std::getenv(name)) return rank;
  return nullptr;
}

}  // namespace

bool under_mpi() {
  return rank_given() != nullptr;
}

// Rank 0 says it and ends, which makes mpirun end this one. A rank that ended first would have rank 0 ended
// before it has spoken; one that is still here has a trouble of its own node.
void let_rank_0_speak() {
  const char* const rank = rank_given();
  if (!rank || std::string(rank) == "0") return;
  ::signal(SIGTERM, SIG_DFL);  // it ends without a word
  std::this_thread::sleep_for(std::chrono::seconds(5));
}

// An executable of its own, because loading libmpi would cost every other command its start-up time.
void become_weir_mpi(int argc, const char* const* argv) {
  const std::string program =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "weir_mpi").string();
  std::vector<const char*> words(argv, argv + argc);
  words[0] = program.c_str();
  words.push_back(nullptr);
  ::execv(program.c_str(), const_cast<char* const*>(words.data()));
  throw ConfigError(
      fmt::format("weir {}", argv[1]), "",
      fmt::format("was started by mpirun, which needs {}: it is built where OpenMPI is installed "
                  "(libopenmpi-dev)",
                  program));
}

}  // namespace weir
