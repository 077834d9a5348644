#include "sim/app/mpi/point_server.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "sim/app/sweep/point_run.h"
#include "sim/core/memory/out_of_memory.h"

namespace weir {
namespace {

struct Head {
  std::uint64_t point, error_bytes, summary_bytes;
  double wall_s, cpu_s;
  std::int64_t peak_rss_bytes;
};

[[noreturn]] void cannot(const std::string& what) {
  throw std::runtime_error(fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

bool write_all(int to, const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::send(to, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) at += static_cast<std::size_t>(n);
  }
  return true;
}

void read_all(int from, char* into, std::size_t count) {
  while (count > 0) {
    const ssize_t n = ::read(from, into, count);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw std::runtime_error("a rank of MPI, or the process that runs its points, has died");
    into += n;
    count -= static_cast<std::size_t>(n);
  }
}

Point read_point(int from, std::size_t bytes) {
  std::string text(bytes, '\0');
  read_all(from, text.data(), bytes);
  return unpacked_point(text);
}

// Until the rank closes its end.
void serve(int rank, const Sweep& sweep) {
  Children children(limits_of(sweep));
  while (true) {
    for (auto& [point, result] : children.wait(std::chrono::hours(1), rank))
      if (!write_all(rank, packed(point, ended(std::move(result))))) return;
    std::uint64_t bytes = 0;
    const ssize_t n = ::recv(rank, &bytes, sizeof bytes, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return;
    if (n != sizeof bytes) continue;
    const Point point = read_point(rank, bytes);
    children.start(static_cast<std::size_t>(point.index), [&] { return run_point(sweep, point).dump(); });
  }
}

}  // namespace

std::string packed(const Point& point) {
  return dumped(Json::array({point.index, Json(point.varied)}));
}

Point unpacked_point(const std::string& text) {
  const Json json = Json::parse(text);
  Point point{json[0].get<std::int64_t>(), {}};
  for (const Json& one : json[1]) point.varied.emplace_back(one[0].get<std::string>(), one[1]);
  return point;
}

std::string packed(std::size_t point, const EndedPoint& r) {
  const Head head{point, r.error.size(), r.summary.size(), r.wall_s, r.cpu_s, r.peak_rss_bytes};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  return bytes.append(r.error).append(r.summary);
}

std::pair<std::size_t, EndedPoint> unpacked(const std::string& bytes) {
  Head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  return {head.point,
          {bytes.substr(sizeof head, head.error_bytes), bytes.substr(sizeof head + head.error_bytes),
           head.wall_s, head.cpu_s, head.peak_rss_bytes}};
}

PointServer::PointServer(const Sweep& sweep) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) cannot("make a socket");
  std::fflush(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) cannot("fork");
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGTERM, SIG_IGN);  // mpirun ends the rank, and the rank ends this
    ::signal(SIGINT, SIG_IGN);
    ::close(ends[0]);
    try {
      serve(ends[1], sweep);
    } catch (const std::exception& e) {
      fmt::print(stderr, "weir: {}\n", words_of_error(e));
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  socket_ = ends[0];
}

PointServer::~PointServer() {
  ::close(socket_);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void PointServer::start(const std::string& point) {
  const std::uint64_t bytes = point.size();
  if (!write_all(socket_, std::string(reinterpret_cast<const char*>(&bytes), sizeof bytes) + point))
    cannot("start a point");
}

std::string PointServer::take() {
  std::string bytes(sizeof(Head), '\0');
  read_all(socket_, bytes.data(), bytes.size());
  Head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  bytes.resize(sizeof head + head.error_bytes + head.summary_bytes);
  read_all(socket_, bytes.data() + sizeof head, bytes.size() - sizeof head);
  return bytes;
}

}  // namespace weir
