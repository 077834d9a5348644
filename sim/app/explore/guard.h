#pragma once
// The page's server, and who may ask what of it. It listens on this machine alone, but every page that a
// browser has open may send requests there, by its address or by a name that was made to lead to it (DNS
// rebinding), and so may other users of the machine. Pure.
#include <optional>
#include <string>
#include <vector>

namespace weir {

struct Asked {  // a request's head
  std::string method, path;
  std::vector<std::string> hosts, origins, fetch_sites, content_types, content_lengths;  // as often as given
  bool transfer_encoded = false, content_encoded = false;
};

struct Refusal {
  int status;
  std::string why;
};

inline constexpr std::size_t most_body_bytes = 256u << 10;  // a page's changes are a few kB

// Nothing: it is the page (GET /TOKEN/) or a run (POST /TOKEN/run) that our own page asks for.
std::optional<Refusal> refused(const Asked& asked, const std::string& token, int port);

// 128 bits of the system's randomness, in hexadecimal. Throws where there is none.
std::string random_token();

}  // namespace weir
