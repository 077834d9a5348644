#include "sim/app/command_line.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <system_error>

#include "sim/app/interruption.h"
#include "sim/app/shell/arguments.h"
#include "sim/app/shell/completion.h"
#include "sim/app/shell/help.h"
#include "sim/core/catalog.h"
#include "sim/core/errors.h"
#include "sim/core/memory/out_of_memory.h"

namespace weir {

// One factory per file; add yours here and in the table.
std::function<int()> declare_run(CLI::App& app);
std::function<int()> declare_check(CLI::App& app);
std::function<int()> declare_list(CLI::App& app);
std::function<int()> declare_compare(CLI::App& app);
std::function<int()> declare_calibrate(CLI::App& app);
std::function<int()> declare_explain(CLI::App& app);
std::function<int()> declare_plot(CLI::App& app);
std::function<int()> declare_reproduce(CLI::App& app);
std::function<int()> declare_report(CLI::App& app);
std::function<int()> declare_explore(CLI::App& app);
std::function<int()> declare_sweep(CLI::App& app);
std::function<int()> declare_plan(CLI::App& app);
std::function<int()> declare_memory(CLI::App& app);
std::function<int()> declare_pim(CLI::App& app);
std::function<int()> declare_completion(CLI::App& app);
Values list_values, plan_values, plot_values, reproduce_values, memory_values, pim_values;

extern const char* const built_commit;  // made by cmake/commit.cmake

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"run", "Simulate a scenario and write its results", declare_run},
      {"sweep", "Simulate every point of a sweep, here or under mpirun", declare_sweep, nullptr, true},
      {"plan", "The cheapest deployments of given devices within an SLO, and how to start the best",
       declare_plan, plan_values, true},
      {"check", "Validate a file without running it; every problem is listed", declare_check},
      {"list", "What a scenario may name: devices, models, policies, ...", declare_list, list_values},
      {"explain", "The life of a request, of a run with --trace: what it waited for, and why",
       declare_explain},
      {"compare", "Runs or sweeps side by side: what differs, and every metric", declare_compare},
      {"calibrate", "Fits a server's host times and efficiencies to measurements of it", declare_calibrate},
      {"plot", "Figures of a run or a sweep", declare_plot, plot_values},
      {"reproduce", "Measured and published figures beside simulated ones", declare_reproduce,
       reproduce_values},
      {"report", "A run's or a sweep's results as one HTML page with a table and charts", declare_report},
      {"explore", "A scenario as a page in a browser: turn it, and see what follows", declare_explore},
      {"memory", "A DRAM channel by itself: when each request of a trace is served", declare_memory,
       memory_values},
      {"pim", "A PIM channel by itself: cycles of one request's attention GEMVs", declare_pim, pim_values},
      {"completion", "A script that completes weir's arguments in bash, zsh or fish", declare_completion},
  };
  return table;
}

namespace {

constexpr const char* about =
    "Weir simulates datacenter LLM serving: how fast, how full and how costly is this model on this cluster, "
    "under "
    "this traffic, with this policy?";

constexpr std::string_view complete_word = "__complete";  // what completion scripts ask with

constexpr const char* exit_codes_help =
    "Exit codes: 0 all done; 1 an error of the machine (no space, no memory, no gnuplot); 2 bad input; 3 it "
    "ran, but points failed, or not one request completed; 130 interrupted (143: by SIGTERM).";

// CLI11 would call a misspelt command an unexpected argument.
void reject_unknown_command(int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-' || argv[1] == complete_word) return;
  const std::vector<std::string> known = names_of(commands());
  if (std::find(known.begin(), known.end(), argv[1]) == known.end())
    throw ConfigError("weir", "", no_such("command", argv[1], known));
}

// Until a command takes the signals itself (interruption.h) there is nothing to tidy up, and after that
// everything is done.
void end_interrupted(int signal) {
  constexpr std::string_view said = "weir: interrupted\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, said.data(), said.size());
  ::_exit(128 + signal);
}

// A result file must not be given the number of a standard stream that the caller closed: what is printed
// would end in it.
void open_standard_streams() {
  int descriptor = 0;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = ::open("/dev/null", O_RDWR);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

// Below, a page of the stack that is not there is a SIGSEGV, whose handler finds none either.
void require_stack() {
  constexpr rlim_t least = 1 << 20;
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < least)
    throw std::runtime_error(fmt::format("the stack is limited to {} KiB, and {} are needed (ulimit -s {})",
                                         limit.rlim_cur >> 10, least >> 10, least >> 10));
}

// Where stderr takes nothing, the exit code has to say it.
void complain(const std::string& line) {
  std::fputs((line + "\n").c_str(), stderr);
}

int parse_and_run(int argc, const char* const* argv) {
  reject_unknown_command(argc, argv);
  CLI::App app(about, "weir");
  app.set_version_flag("--version", fmt::format("weir {} (commit {})", WEIR_VERSION, built_commit));
  const auto print_man_page = [&app](std::int64_t) {
    fmt::print("{}", man_page(app));
    throw CLI::Success();
  };
  app.add_flag_function("--man", print_man_page, "Print this and every command's help for man(1) and exit");
  app.formatter(fitting_help());
  app.footer(exit_codes_help);
  app.require_subcommand(1);
  std::function<int()> chosen;
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    const std::function<int()> declared = command.declare(*sub);
    refuse_empty(*sub);
    sub->callback([&, work = declared] {
      chosen = work;
      if (command.shared && under_mpi()) chosen = [&]() -> int { become_weir_mpi(argc, argv); };
    });
  }
  if (argc > 2 && argv[1] == complete_word) {
    for (const std::string& line : completions(app, {argv + 2, argv + argc})) fmt::print("{}\n", line);
    return exit_done;
  }
  for (const CLI::App* sub : app.get_subcommands({}))
    if (argc > 1 && sub->get_name() == argv[1]) refuse_unknown_options(*sub, {argv + 2, argv + argc});
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) let_rank_0_speak();
    return app.exit(e) == 0 ? exit_done : exit_bad_input;  // prints help or what is wrong
  }
  return chosen();
}

// Help, too, and what was flushed before: its error stays with the stream.
void require_all_said() {
  std::cout.flush();
  if (std::fflush(stdout) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot write to stdout");
  if (std::ferror(stdout) != 0 || !std::cout) throw std::runtime_error("cannot write all of it to stdout");
}

}  // namespace

int run_command_line(int argc, const char* const* argv) try {
  require_stack();
  std::set_terminate(end_by_uncaught);
  open_standard_streams();
  for (const int signal : {SIGINT, SIGTERM}) ::signal(signal, end_interrupted);
  ::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is an error of write(), as a full disk is
  const int code = parse_and_run(argc, argv);
  require_all_said();
  return code;
} catch (const Interrupted&) {
  complain("weir: interrupted, nothing written");
  return Interruption::exit_code();
} catch (const ConfigError& e) {
  let_rank_0_speak();
  tell(e.notes());
  complain(e.what());
  return exit_bad_input;
} catch (const std::exception& e) {
  complain("weir: " + words_of_error(e));
  return exit_failed;
}

void tell(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", note);
}

}  // namespace weir
