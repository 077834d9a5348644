// Connections that send slowly, or not at all: neither the page nor the end of weir explore waits for them.
#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "test/app/explore/explore_server.h"

using namespace weir;
using namespace weir::test;

namespace {

class SlowConnections {
 public:
  SlowConnections(int port, int count, const std::string& sent) {
    for (int i = 0; i < count; ++i) {
      const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in where{};
      where.sin_family = AF_INET;
      where.sin_port = htons(static_cast<std::uint16_t>(port));
      where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      REQUIRE(::connect(socket, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0);
      ::send(socket, sent.data(), sent.size(), MSG_NOSIGNAL);
      sockets_.push_back(socket);
    }
  }
  ~SlowConnections() {
    for (const int socket : sockets_) ::close(socket);
  }
  SlowConnections(const SlowConnections&) = delete;
  SlowConnections& operator=(const SlowConnections&) = delete;

 private:
  std::vector<int> sockets_;
};

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace

TEST_CASE("explore: slow connections keep no client from the page, and do not keep it from ending") {
  for (const char* sent : {"", "GET / HTT", "GET / HTTP/1.1\r\nHost: a\r\n",
                           "POST /x/run HTTP/1.1\r\nContent-Length: 9\r\n\r\n"}) {
    ExploreProcess weir(shipped("quickstart.json"));
    const SlowConnections slow(weir.port(), 100, sent);
    const auto asked = std::chrono::steady_clock::now();
    CHECK(weir.get(weir.path()).status == 200);
    CHECK(seconds_since(asked) < 8);  // one that waits for them takes ten
    const auto ended = std::chrono::steady_clock::now();
    CHECK(weir.end(SIGINT) == 0);
    CHECK(seconds_since(ended) < 8);
  }
}
