#pragma once
// Runs the real `weir` as a user does, and hands back what it printed and how it ended.
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "test/app/scratch_directory.h"

namespace weir::test {

struct Ended {
  int code = 0;  // exit code, or 128 + signal
  std::string out, err;
};

struct HowToRun {
  std::filesystem::path folder = ".";                   // to run in
  std::vector<std::string> environment = {};            // NAME=value, on top of ours
  std::vector<std::string> under = {};                  // what starts weir: mpirun -n 4
  std::function<void(pid_t)> meanwhile = [](pid_t) {};  // while it runs: send it a signal, say
};

std::string contents(const std::filesystem::path& file);

std::string write(const std::filesystem::path& file, const std::string& text);  // returns its name
int lines(const std::string& text);
void wait(double seconds);

Ended run_weir(std::vector<std::string> arguments, const HowToRun& how = {});
// The same code in a fork of the test, without the start of a program (30 ms): for commands by the hundred.
// No Engine may have been made.
Ended run_command(const std::vector<std::string>& arguments);
// The quickstart with few requests, into out/NAME below the scratch directory.
Ended run_small(const ScratchDirectory& scratch, const std::string& name,
                const std::vector<std::string>& more = {});

// A scenario shipped with Weir, by its path below scenarios/.
std::string shipped(const std::string& name);
// All of them; schemas, Hugging Face config.json, sweeps and what weir plan is asked left out.
std::vector<std::filesystem::path> shipped_scenarios();
std::vector<std::filesystem::path> shipped_sweeps();
// What sets fewer requests in a shipped scenario (named without .json) whose run takes a second or more;
// empty for others. Preemptions, swaps and handovers are in what is left.
std::vector<std::string> made_short(const std::string& name);
// How a shipped scenario is called there.
std::string name_of_shipped(const std::filesystem::path& file);

}  // namespace weir::test
