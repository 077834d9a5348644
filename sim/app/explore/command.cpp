// weir explore: a scenario as a page, on which whatever is turned is simulated anew.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <array>

#include "sim/app/command_line.h"
#include "sim/app/explore/runs.h"
#include "sim/app/explore/server.h"
#include "sim/app/explore/worker.h"
#include "sim/app/interruption.h"
#include "sim/app/shell/arguments.h"

namespace weir {
namespace {

struct ExploreArguments {
  std::string file;
  int port = 0;
  bool no_open = false;
};

// In a session of its own, so that a Ctrl-C here does not end the browser, and with the signals that we have
// blocked. False where there is no such program.
bool open_in_browser(const std::string& address) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_init(&actions);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  for (const int stream : {0, 1, 2})
    ::posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  std::string program = "xdg-open", argument = address;
  std::array<char*, 3> words{program.data(), argument.data(), nullptr};
  pid_t process = 0;
  const int error = ::posix_spawnp(&process, "xdg-open", &actions, &attributes, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  return error == 0;
}

// Ctrl-C is how it ends, so that nothing was broken off: 0. SIGTERM is 143, as everywhere.
int explore(const ExploreArguments& arguments) {
  const Explored explored = explored_scenario(arguments.file);
  const Worker worker(explored);
  const Interruption interruption;
  Runs runs(worker.socket());
  const ExploreServer server(explored, runs, arguments.port);
  fmt::print("{}\n", server.address());
  std::fflush(stdout);
  const bool opened = !arguments.no_open && open_in_browser(server.address());
  fmt::print(stderr, "{}; Ctrl-C ends it\n",
             opened ? "opening it in a browser" : "open this address in a browser of this machine");
  while (!interruption && runs.alive()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  if (!interruption) throw std::runtime_error("weir explore: the process that runs scenarios is gone");
  return Interruption::exit_code() == exit_interrupted ? static_cast<int>(exit_done)
                                                       : Interruption::exit_code();
}

}  // namespace

std::function<int()> declare_explore(CLI::App& app) {
  const auto a = std::make_shared<ExploreArguments>();
  app.add_option("SCENARIO", a->file, "scenario file (JSON)")->required();
  app.add_option("--port", a->port, "port of 127.0.0.1 to listen on (default: one that is free)")
      ->type_name("N")
      ->check(whole_number(1, 65535));
  app.add_flag("--no-open", a->no_open, "print the page's address, and open no browser");
  return [a] { return explore(*a); };
}

}  // namespace weir
