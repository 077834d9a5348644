#include "sim/app/mpi/time_limit.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "sim/core/errors.h"

namespace weir {
namespace {

// The handler may touch these: no memory is its own.
int code_then = 0;
char said[200];

void end(int) {
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, said, std::strlen(said));
  ::_exit(code_then);
}

}  // namespace

TimeLimit::TimeLimit(const std::string& what, int code) {
  const unsigned limit = mpi_time_limit_s();
  code_then = code;
  const auto end_of_text = fmt::format_to_n(said, sizeof said - 1,
                                            "weir: {} took longer than {} s: has a rank died? (the limit is "
                                            "WEIR_MPI_TIME_LIMIT_S)\n",
                                            what, limit);
  *end_of_text.out = '\0';
  ::signal(SIGALRM, end);
  ::alarm(limit);
}

TimeLimit::~TimeLimit() {
  ::alarm(0);
}

unsigned mpi_time_limit_s() {
  const char* const given = std::getenv("WEIR_MPI_TIME_LIMIT_S");
  if (!given) return 120;
  unsigned seconds = 0;
  const char* const last = given + std::strlen(given);
  const auto [end, error] = std::from_chars(given, last, seconds);
  if (error != std::errc() || end != last || seconds == 0)
    throw ConfigError("WEIR_MPI_TIME_LIMIT_S", "",
                      fmt::format("expected whole seconds above 0 (got \"{}\")", given));
  return seconds;
}

}  // namespace weir
