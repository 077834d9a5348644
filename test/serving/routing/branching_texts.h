#pragma once
// Prompts that begin as others do, as sets of blocks, for whoever holds a router's knowledge to a walk over
// these.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "sim/serving/routing/router_knowledge.h"
#include "test/policies/naive_engine.h"

namespace weir::test {

using Block = std::pair<std::int32_t, std::int64_t>;  // a text, and which of its blocks or tokens

// Requests that branch off earlier texts, often off one that many begin with.
inline Workload branching(Dice& dice, int count) {
  Workload w;
  std::vector<Origin> origins;
  for (int i = 0; i < count; ++i) {
    Origin origin;
    if (i > 0 && dice(0, 4) > 0) {
      origin.request = static_cast<std::int32_t>(dice(0, 2) == 0 ? 0 : dice(std::max(0, i - 6), i - 1));
      const Request& of = w.requests[static_cast<std::size_t>(origin.request)];
      origin.tokens = dice(0, 1) ? of.input_tokens + of.output_tokens : dice(0, of.input_tokens);
      if (origin.tokens > 60) origin = {};
    }
    w.requests.push_back({Seconds(0), origin.tokens + dice(1, 20), dice(1, 12)});
    origins.push_back(origin);
  }
  w.contents = Contents(origins, w.requests);
  return w;
}

inline std::vector<Block> blocks_of(const Contents& contents, std::int32_t request, std::int64_t blocks,
                                    std::int64_t block_tokens) {
  std::vector<Block> all;
  TextPath path(contents, block_tokens);
  for (const TextBlocks& part : path(request, blocks))
    for (std::int64_t i = part.first; i < part.last; ++i) all.emplace_back(part.text, i);
  return all;
}

// How many from the beginning a set has.
inline std::int64_t beginning_in(const std::set<Block>& there, const std::vector<Block>& blocks) {
  std::int64_t n = 0;
  while (n < std::ssize(blocks) && there.contains(blocks[static_cast<std::size_t>(n)])) ++n;
  return n;
}

inline std::map<std::int32_t, RouterKnowledge::Holder> holders_by_replica(RouterKnowledge& knows,
                                                                          std::int32_t request,
                                                                          std::int64_t input_tokens) {
  std::map<std::int32_t, RouterKnowledge::Holder> all;
  for (const auto& holder : knows.holders(request, input_tokens)) {
    REQUIRE(all.emplace(holder.replica, holder).second);  // once
    REQUIRE((holder.tokens > 0 || holder.shared_blocks > 0));
  }
  return all;
}

}  // namespace weir::test
