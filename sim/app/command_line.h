#pragma once
// The user types commands: one file and one row of the table in command_line.cpp each. Errors end here, as
// text on stderr and an exit code; results go to stdout, talk to stderr.
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace weir {

// `weir --help` says them, too.
enum ExitCode : int {
  exit_done = 0,
  exit_failed = 1,         // the machine: no space, no memory, no gnuplot
  exit_bad_input = 2,      // what the user gave
  exit_incomplete = 3,     // it ran, but points failed, or not one request completed
  exit_interrupted = 130,  // by Ctrl-C; 143 by SIGTERM: 128 and the signal's number, as shells have it
};

// The values that shells offer for an argument, by its name and the arguments before it.
using Values = std::vector<std::string>(const std::string& argument, const std::vector<std::string>& before);

struct Command {
  std::string name, summary;
  // Adds the command's arguments to `app`. What comes back does the work, once they are parsed, and gives the
  // exit code; it may throw.
  std::function<int()> (*declare)(CLI::App& app);
  Values* values = nullptr;  // where the types of the arguments do not say it
  bool shared = false;       // by the ranks of mpirun, which become weir_mpi
};
const std::vector<Command>& commands();

int run_command_line(int argc, const char* const* argv);

void tell(const std::vector<std::string>& notes);  // a line each

// under_mpi.cpp
bool under_mpi();         // did mpirun or srun start this process as a rank?
void let_rank_0_speak();  // to be called before what every rank would say alike
[[noreturn]] void become_weir_mpi(int argc, const char* const* argv);

}  // namespace weir
