#pragma once
// A connection of the page's server, as httplib reads and writes one. A client that sends its request
// or takes its answer slowly does not keep others waiting, and no connection outlives the server.
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <list>
#include <mutex>
#include <string>

namespace weir {

class Connection;

// The connections that are open.
class Connections {
 public:
  // So many connections may still have to send their request; one more closes the oldest of them. Half of the
  // server's threads are left for requests that have come.
  static constexpr std::size_t most_unread = 8;

  void close_all();  // those that come later, too

 private:
  friend Connection;
  void add(Connection& one);
  void has_come(Connection& one);
  void remove(Connection& one);

  std::mutex mutex_;
  std::list<Connection*> unread_, open_;  // oldest first
  bool closed_ = false;
};

class Connection final : public httplib::Stream {
 public:
  Connection(Connections& all, socket_t socket);
  ~Connection() override;  // closes the socket
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* to, std::size_t most) override;
  using httplib::Stream::write;
  ssize_t write(const char* from, std::size_t count) override;  // the whole of it
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

  void shut();  // from any thread: what waits for it ends

 private:
  using Clock = std::chrono::steady_clock;
  bool ready(short events, Clock::time_point deadline) const;

  Connections& all_;
  const socket_t socket_;
  const Clock::time_point began_ = Clock::now();
  std::string buffer_;
  std::size_t consumed_ = 0;
  bool answering_ = false;
};

}  // namespace weir
