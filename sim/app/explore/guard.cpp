#include "sim/app/explore/guard.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

namespace weir {
namespace {

// As long for a wrong token as for a right one.
bool same(const std::string& given, const std::string& secret) {
  if (given.size() != secret.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < secret.size(); ++i)
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(secret[i]);
  return difference == 0;
}

bool is_own_host(const std::string& host, int port) {
  return host == fmt::format("127.0.0.1:{}", port) || host == fmt::format("localhost:{}", port);
}

// Browsers say where a request comes from; programs that are no browsers need not.
bool comes_from_elsewhere(const Asked& asked, int port) {
  const auto foreign = [&](const std::string& origin) {
    return !origin.starts_with("http://") || !is_own_host(origin.substr(7), port);
  };
  const auto cross = [](const std::string& site) { return site != "same-origin" && site != "none"; };
  return std::any_of(asked.origins.begin(), asked.origins.end(), foreign) ||
         std::any_of(asked.fetch_sites.begin(), asked.fetch_sites.end(), cross);
}

// A length that is said once is what httplib holds to its limit; it has none for other bodies.
std::optional<Refusal> refused_body(const Asked& asked) {
  if (asked.transfer_encoded || asked.content_lengths.size() != 1)
    return Refusal{411, "expected one Content-Length"};
  const std::string& length = asked.content_lengths[0];
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bytes);
  if (end != length.data() + length.size() || length.empty()) return Refusal{400, "bad Content-Length"};
  if (error != std::errc() || bytes > most_body_bytes)
    return Refusal{413, fmt::format("at most {} kB", most_body_bytes >> 10)};
  // A form of another page could send any other type without asking first.
  if (asked.content_encoded || asked.content_types != std::vector<std::string>{"application/json"})
    return Refusal{415, "expected application/json"};
  return {};
}

}  // namespace

std::optional<Refusal> refused(const Asked& asked, const std::string& token, int port) {
  if (asked.hosts.size() != 1 || !is_own_host(asked.hosts[0], port)) return Refusal{403, "another host"};
  if (comes_from_elsewhere(asked, port)) return Refusal{403, "another origin"};
  const auto slash = asked.path.find('/', 1);
  if (slash == std::string::npos || !same(asked.path.substr(1, slash - 1), token))
    return Refusal{403, "no such token: open the address that weir explore printed"};
  const std::string what = asked.path.substr(slash);
  if (what != "/" && what != "/run") return Refusal{404, "nothing here"};
  if (asked.method != (what == "/" ? "GET" : "POST")) return Refusal{405, "not this way"};
  return what == "/run" ? refused_body(asked) : std::nullopt;
}

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw std::system_error(errno, std::generic_category(), "no randomness for an address");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

}  // namespace weir
