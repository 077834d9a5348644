#include "sim/app/explore/packets.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace weir {
namespace {

using PacketHead = std::array<std::int32_t, 3>;  // job, part, bytes of text

bool send_all(int socket, const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t sent = ::send(socket, bytes, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    count -= static_cast<std::size_t>(sent);
  }
  return true;
}

}  // namespace

bool send_packet(int socket, const Packet& packet) {
  const PacketHead head{packet.job, packet.part, static_cast<std::int32_t>(packet.text.size())};
  std::string bytes(reinterpret_cast<const char*>(head.data()), sizeof head);
  bytes += packet.text;
  return send_all(socket, bytes.data(), bytes.size());
}

bool PacketReader::receive(bool wait) {
  std::array<char, 65536> buffer;
  const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), wait ? 0 : MSG_DONTWAIT);
  if (count < 0) return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
  bytes_.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::optional<Packet> PacketReader::next() {
  PacketHead head;
  if (bytes_.size() < sizeof head) return {};
  std::memcpy(head.data(), bytes_.data(), sizeof head);
  const std::size_t length = static_cast<std::size_t>(head[2]);
  if (bytes_.size() < sizeof head + length) return {};
  Packet packet{head[0], head[1], bytes_.substr(sizeof head, length)};
  bytes_.erase(0, sizeof head + length);
  return packet;
}

}  // namespace weir
