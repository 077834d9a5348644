#pragma once
// What prompts have in common, without their texts: a prompt begins as an earlier request's prompt and answer
// do. KV caches, routers and memories beside them ask it whose keys and values a request may use again.
#include <cstdint>
#include <vector>

#include "sim/core/request.h"

namespace weir {

struct Origin {
  std::int32_t request = -1;  // an earlier one; -1: nothing is shared
  std::int64_t tokens = 0;    // of its prompt and answer, with which this prompt begins
};

// A tree of texts: each request's text is its prompt and its answer, and branches off where it leaves its
// origin's. A token belongs to the request on the way from the root that has it first.
class Contents {
 public:
  Contents() = default;  // nothing is shared
  // An origin for each request: of an earlier one, with no more tokens than that one's text or this one's
  // prompt has. Throws std::logic_error otherwise: readers tell the user before.
  Contents(std::vector<Origin> origins, const std::vector<Request>& requests);

  bool shared() const { return !origins_.empty(); }
  // The request to which the last shared token belongs, whatever one the reader named; of no tokens: none.
  Origin origin(std::int32_t request) const { return shared() ? origins_[at(request)] : Origin{}; }
  // Tokens that the texts of two requests begin with alike; of one and itself without end.
  std::int64_t common(std::int32_t one, std::int32_t other) const;
  // Tokens of its text that others begin with: nobody asks for what is behind them.
  std::int64_t reused(std::int32_t request) const { return shared() ? reused_[at(request)] : 0; }

 private:
  static std::size_t at(std::int32_t request) { return static_cast<std::size_t>(request); }

  std::vector<Origin> origins_;
  std::vector<std::int64_t> reused_;
};

inline const Contents& nothing_shared() {
  static const Contents contents;
  return contents;
}

}  // namespace weir
