#include "test/app/on_terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace weir::test {

Shown run_on_terminal(std::vector<std::string> arguments, unsigned short columns, const HowToRun& how,
                      const std::function<bool(const std::string&)>& until) {
  arguments.insert(arguments.begin(), WEIR_BINARY);
  std::vector<char*> argv;
  for (std::string& word : arguments) argv.push_back(word.data());
  argv.push_back(nullptr);
  winsize size{};
  size.ws_col = columns;
  size.ws_row = 24;
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    if (::chdir(how.folder.c_str()) != 0) ::_exit(126);
    for (const std::string& assignment : how.environment) ::putenv(const_cast<char*>(assignment.c_str()));
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  // While somebody has the other end open, what weir has written is not lost when it ends; a busy machine
  // hands it over some time later.
  const int other_end = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  Shown shown;
  char buffer[4096];
  bool told = false;
  int status = 0;
  for (bool ended = false;;) {
    pollfd readable{terminal, POLLIN, 0};
    if (::poll(&readable, 1, 10) > 0) {
      const ssize_t n = ::read(terminal, buffer, sizeof buffer);
      shown.text.append(buffer, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
      if (told || !until(shown.text)) continue;
      told = true;
      ::kill(child, SIGINT);
    } else if (ended) {
      break;
    } else {
      ended = ::waitpid(child, &status, WNOHANG) == child;
    }
  }
  ::close(other_end);
  ::close(terminal);
  shown.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return shown;
}

std::size_t widest(const std::string& shown) {
  std::size_t most = 0, width = 0;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown[i] == '\033') {
      while (i < shown.size() && !std::isalpha(static_cast<unsigned char>(shown[i]))) ++i;
      continue;
    }
    width = shown[i] == '\n' || shown[i] == '\r' ? 0 : width + ((shown[i] & 0xC0) != 0x80);
    most = std::max(most, width);
  }
  return most;
}

}  // namespace weir::test
