#pragma once
// The server and its worker talk in packets over a pair of sockets: a fixed head and a text.
#include <cstdint>
#include <optional>
#include <string>

namespace weir {

struct Packet {
  std::int32_t job = 0;   // a change of a page
  std::int32_t part = 0;  // of the job: 0 the scenario itself, others beside it; end_of_job: no more to come
  std::string text;
};
inline constexpr std::int32_t end_of_job = -1;

// False where the other end is gone.
bool send_packet(int socket, const Packet& packet);

class PacketReader {
 public:
  explicit PacketReader(int socket) : socket_(socket) {}
  // Takes what has come, waiting for it or not. False where the other end is gone.
  bool receive(bool wait);
  std::optional<Packet> next();  // of what was received

 private:
  int socket_;
  std::string bytes_;
};

}  // namespace weir
