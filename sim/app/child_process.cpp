#include "sim/app/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

#include "sim/core/memory/out_of_memory.h"

namespace weir {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void cannot(const char* what) {
  if (errno == ENOMEM) throw std::bad_alloc();
  throw std::runtime_error(fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

std::string result_of(const std::function<std::string()>& work) {
  try {
    return "k" + work();
  } catch (const std::exception& e) {
    return "e" + words_of_error(e);
  }
}

void limit(__rlimit_resource what, std::int64_t most) {
  const rlimit both{static_cast<rlim_t>(most), static_cast<rlim_t>(most)};
  ::setrlimit(what, &both);
}

// Where the machine runs out of memory, the kernel shall take a child and not its parent.
void be_first_to_go() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, "1000", 4);
  ::close(file);
}

[[noreturn]] void be_child(int to, int said, pid_t parent, const ChildLimits& limits,
                           const std::function<std::string()>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before it could be watched
  be_first_to_go();
  limit(RLIMIT_CORE, 0);
  if (limits.memory_bytes) limit(RLIMIT_AS, *limits.memory_bytes);
  if (said >= 0) {
    ::dup2(said, STDERR_FILENO);
    limit(RLIMIT_FSIZE, std::int64_t{64} << 20);  // it is kept in memory
  }
  const std::string bytes = result_of(work);
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::write(to, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno != EINTR) ::_exit(1);
    if (n > 0) at += static_cast<std::size_t>(n);
  }
  ::_exit(0);  // no destructors, no atexit: they belong to the parent
}

bool read_some(int from, std::string& bytes) {  // false at the end
  char buffer[65536];
  const ssize_t n = ::read(from, buffer, sizeof buffer);
  if (n < 0) return errno == EINTR;
  bytes.append(buffer, static_cast<std::size_t>(n));
  return n > 0;
}

std::string last_words(int said) {
  constexpr off_t most = 600;
  const off_t size = ::lseek(said, 0, SEEK_END);
  char buffer[most];
  const ssize_t n = ::pread(said, buffer, most, std::max<off_t>(0, size - most));
  std::string words(buffer, static_cast<std::size_t>(std::max<ssize_t>(0, n)));
  while (!words.empty() && words.back() == '\n') words.pop_back();
  if (const auto line = words.find('\n'); size > most && line != std::string::npos) words.erase(0, line + 1);
  return words;
}

}  // namespace

Children::~Children() {
  for (const Child& child : running_) ::kill(child.pid, SIGKILL);  // all, before the first is waited for
  for (const Child& child : running_) end(child);
}

void Children::end(const Child& child) {
  ::kill(child.pid, SIGKILL);
  ::close(child.from);
  if (child.said >= 0) ::close(child.said);
  while (::waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Children::kill(std::size_t id) {
  std::erase_if(running_, [&](const Child& child) {
    if (child.id == id) end(child);
    return child.id == id;
  });
}

void Children::start(std::size_t id, const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) cannot("make a pipe");
  const int said = limits_.keep_stderr ? ::memfd_create("stderr", MFD_CLOEXEC) : -1;
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    be_child(ends[1], said, parent, limits_, work);
  }
  ::close(ends[1]);
  if (pid < 0) {
    ::close(ends[0]);
    if (said >= 0) ::close(said);
    cannot("fork");
  }
  running_.push_back({id, pid, ends[0], said, Clock::now(), {}});
}

void Children::kill_overdue() {
  if (!limits_.time_s) return;
  for (Child& child : running_) {
    if (std::chrono::duration<double>(Clock::now() - child.started).count() < *limits_.time_s) continue;
    child.overdue = true;
    ::kill(child.pid, SIGKILL);
  }
}

std::string Children::how_it_died(const Child& child, int status) const {
  if (child.overdue) return fmt::format("stopped at the time limit of {:g} s", *limits_.time_s);
  std::string how;
  const std::string words = child.said >= 0 ? last_words(child.said) : "";
  if (words.ends_with("weir: out of memory")) return "out of memory";
  if (WIFSIGNALED(status))
    how = fmt::format("killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  else if (child.bytes.empty() || WEXITSTATUS(status) != 0)
    how = fmt::format("exited with {} and no result", WEXITSTATUS(status));
  else
    return "";
  if (limits_.memory_bytes && child.said >= 0)
    how += fmt::format(", memory limit {} MiB", *limits_.memory_bytes >> 20);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) how += ", as the system does where memory runs out";
  return words.empty() ? how : how + ": " + words;
}

ChildResult Children::finish(Child& child) const {
  ::close(child.from);
  int status = 0;
  rusage usage{};
  while (::wait4(child.pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  ChildResult result;
  result.error = how_it_died(child, status);
  if (child.said >= 0) ::close(child.said);
  result.wall_s = std::chrono::duration<double>(Clock::now() - child.started).count();
  result.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  result.peak_rss_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  if (result.error.empty()) (child.bytes[0] == 'k' ? result.output : result.error) = child.bytes.substr(1);
  if (result.error == "out of memory" && limits_.memory_bytes)
    result.error += fmt::format(" (memory limit {} MiB)", *limits_.memory_bytes >> 20);
  return result;
}

std::vector<std::pair<std::size_t, ChildResult>> Children::wait(std::chrono::milliseconds most, int also) {
  if (limits_.time_s)  // the next deadline may come first
    for (const Child& child : running_) {
      const std::chrono::duration<double> left =
          child.started + std::chrono::duration<double>(*limits_.time_s) - Clock::now();
      most =
          std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds(0), most);
    }
  std::vector<pollfd> waiting;
  for (const Child& child : running_) waiting.push_back({child.from, POLLIN, 0});
  waiting.push_back({also, POLLIN, 0});  // poll() ignores -1
  if (::poll(waiting.data(), waiting.size(), static_cast<int>(most.count())) < 0 && errno != EINTR)
    cannot("poll");
  std::vector<std::pair<std::size_t, ChildResult>> ended;
  for (std::size_t i = running_.size(); i-- > 0;) {
    if (waiting[i].revents == 0 || read_some(running_[i].from, running_[i].bytes)) continue;
    ended.emplace_back(running_[i].id, finish(running_[i]));
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  kill_overdue();
  return ended;
}

void in_children(std::size_t count, int jobs, const std::function<std::string(std::size_t)>& body,
                 const std::function<bool(std::size_t, ChildResult)>& done) {
  Children children;
  std::size_t next = 0;
  bool go_on = true;
  while (children.running() > 0 || (go_on && next < count)) {
    for (; go_on && next < count && children.running() < static_cast<std::size_t>(jobs); ++next)
      children.start(next, [&] { return body(next); });
    for (auto& [index, result] : children.wait(std::chrono::hours(1)))
      if (!done(index, std::move(result))) go_on = false;
  }
}

}  // namespace weir
