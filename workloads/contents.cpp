#include "workloads/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace weir {

Contents::Contents(std::vector<Origin> origins, const std::vector<Request>& requests)
    : origins_(std::move(origins)), reused_(requests.size()) {
  if (origins_.size() != requests.size()) throw std::logic_error("an origin for each request");
  for (std::size_t i = 0; i < origins_.size(); ++i) {
    Origin& origin = origins_[i];
    if (origin.request < 0 || origin.tokens == 0) {
      origin = {};
      continue;
    }
    const Request& of = requests[at(origin.request)];
    if (at(origin.request) >= i || origin.tokens > of.input_tokens + of.output_tokens ||
        origin.tokens > requests[i].input_tokens)
      throw std::logic_error(fmt::format("request {} cannot begin with {} tokens of request {}", i,
                                         origin.tokens, origin.request));
    while (origin.tokens <= origins_[at(origin.request)].tokens)
      origin.request = origins_[at(origin.request)].request;
    std::int64_t& reused = reused_[at(origin.request)];
    reused = std::max(reused, origin.tokens);
  }
  if (std::ranges::all_of(origins_, [](const Origin& origin) { return origin.request < 0; }))
    origins_.clear();
}

// Whoever of them came later leaves the other's way to the root: it goes back to where its text branches off.
std::int64_t Contents::common(std::int32_t one, std::int32_t other) const {
  std::int64_t tokens = std::numeric_limits<std::int64_t>::max();
  while (one != other) {
    std::int32_t& later = one > other ? one : other;
    const Origin origin = this->origin(later);
    if (origin.request < 0) return 0;
    tokens = std::min(tokens, origin.tokens);
    later = origin.request;
  }
  return tokens;
}

}  // namespace weir
