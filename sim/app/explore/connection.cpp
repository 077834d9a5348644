#include "sim/app/explore/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace weir {
namespace {

// ESTIMATE: everything is on one machine, where a request or a page takes milliseconds.
constexpr std::chrono::seconds patience(10);
constexpr std::size_t buffered = 4096;

}  // namespace

void Connections::close_all() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (Connection* one : open_) one->shut();
}

void Connections::add(Connection& one) {
  const std::lock_guard lock(mutex_);
  open_.push_back(&one);
  unread_.push_back(&one);
  if (closed_) one.shut();
  if (unread_.size() <= most_unread) return;
  unread_.front()->shut();
  unread_.pop_front();
}

void Connections::has_come(Connection& one) {
  const std::lock_guard lock(mutex_);
  unread_.remove(&one);
}

void Connections::remove(Connection& one) {
  const std::lock_guard lock(mutex_);
  unread_.remove(&one);
  open_.remove(&one);
}

Connection::Connection(Connections& all, socket_t socket) : all_(all), socket_(socket) {
  all_.add(*this);
}

Connection::~Connection() {
  all_.remove(*this);  // before another connection can have its number
  shut();
  ::close(socket_);
}

void Connection::shut() {
  ::shutdown(socket_, SHUT_RDWR);
}

bool Connection::ready(short events, Clock::time_point deadline) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd one{socket_, events, 0};
    const int found = ::poll(&one, 1, static_cast<int>(std::max<std::int64_t>(0, left)));
    if (found > 0) return true;
    if (found == 0 || errno != EINTR) return false;
  }
}

bool Connection::is_readable() const {
  return consumed_ < buffer_.size() || ready(POLLIN, began_ + patience);
}

// And there is somebody to read it.
bool Connection::is_writable() const {
  char next = 0;
  const ssize_t count = ::recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  const bool alive = count > 0 || (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
  return alive && ready(POLLOUT, Clock::now() + patience);
}

ssize_t Connection::read(char* to, std::size_t most) {
  if (consumed_ == buffer_.size()) {
    if (!ready(POLLIN, began_ + patience)) return -1;
    buffer_.resize(buffered);
    const ssize_t count = ::recv(socket_, buffer_.data(), buffered, 0);
    buffer_.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
    consumed_ = 0;
    if (count <= 0) return count;
  }
  const std::size_t count = std::min(most, buffer_.size() - consumed_);
  buffer_.copy(to, count, consumed_);
  consumed_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t Connection::write(const char* from, std::size_t count) {
  if (!std::exchange(answering_, true)) all_.has_come(*this);
  const Clock::time_point deadline = Clock::now() + patience;
  for (std::size_t sent = 0; sent < count;) {
    if (!ready(POLLOUT, deadline)) return -1;
    const ssize_t more = ::send(socket_, from + sent, count - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (more < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) continue;
    if (more <= 0) return -1;
    sent += static_cast<std::size_t>(more);
  }
  return static_cast<ssize_t>(count);
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip = "127.0.0.1";  // the only ones that the server listens to
  port = 0;
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  get_remote_ip_and_port(ip, port);
}

}  // namespace weir
