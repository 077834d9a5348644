#include "sim/engine/child_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace weir {
namespace {

struct Child {
  std::size_t index;
  pid_t pid;
  int from;
  std::string bytes;  // first byte: 'k' the output follows, 'e' an error does
};

[[noreturn]] void be_child(int to, const std::function<std::string(std::size_t)>& body, std::size_t index) {
  std::string bytes;
  try {
    bytes = body(index);
    bytes.insert(bytes.begin(), 'k');
  } catch (const std::exception& e) {
    bytes = e.what();
    bytes.insert(bytes.begin(), 'e');
  }
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::write(to, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno != EINTR) _exit(1);
    if (n > 0) at += static_cast<std::size_t>(n);
  }
  _exit(0);  // no destructors, no atexit: they belong to the parent
}

Child start(std::size_t index, const std::function<std::string(std::size_t)>& body) {
  int ends[2];
  if (::pipe(ends) != 0)
    throw std::runtime_error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error(fmt::format("cannot fork: {}", std::strerror(errno)));
  if (pid == 0) {
    ::close(ends[0]);
    be_child(ends[1], body, index);
  }
  ::close(ends[1]);
  return {index, pid, ends[0], {}};
}

bool read_some(Child& child) {  // false at the end
  char buffer[65536];
  const ssize_t n = ::read(child.from, buffer, sizeof buffer);
  if (n < 0) return errno == EINTR;
  child.bytes.append(buffer, static_cast<std::size_t>(n));
  return n > 0;
}

ChildResult finish(Child& child) {
  ::close(child.from);
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return {"", fmt::format("killed by signal {}", WTERMSIG(status))};
  if (child.bytes.empty() || WEXITSTATUS(status) != 0)
    return {"", fmt::format("exited with {} and no result", WEXITSTATUS(status))};
  std::string rest = child.bytes.substr(1);
  return child.bytes[0] == 'k' ? ChildResult{std::move(rest), ""} : ChildResult{"", std::move(rest)};
}

}  // namespace

void in_children(std::size_t count, int jobs, const std::function<std::string(std::size_t)>& body,
                 const std::function<bool(std::size_t, ChildResult)>& done) {
  std::vector<Child> running;
  std::size_t next = 0;
  bool go_on = true;
  while (!running.empty() || (go_on && next < count)) {
    while (go_on && next < count && running.size() < static_cast<std::size_t>(jobs))
      running.push_back(start(next++, body));
    std::vector<pollfd> waiting;
    for (const Child& child : running) waiting.push_back({child.from, POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR)
      throw std::runtime_error(fmt::format("cannot poll: {}", std::strerror(errno)));
    for (std::size_t i = waiting.size(); i-- > 0;) {
      if (waiting[i].revents == 0 || read_some(running[i])) continue;
      ChildResult result = finish(running[i]);
      const std::size_t index = running[i].index;
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      if (!done(index, std::move(result))) go_on = false;
    }
  }
}

}  // namespace weir
