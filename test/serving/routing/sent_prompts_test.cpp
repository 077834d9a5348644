// A router that hears nothing remembers what it sent, as much as it cares to.
#include <catch2/catch.hpp>
#include <list>

#include "test/serving/routing/branching_texts.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("router: remembers the prompts sent last, token by token, and forgets ends before beginnings",
          "[routing]") {
  std::int64_t forgotten = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    const Workload w = branching(dice, 60);
    const std::int64_t most = dice(20, 300);
    const auto replicas = static_cast<std::int32_t>(dice(1, seed % 5 == 0 ? 30 : 3));
    RouterKnowledge knows({.remembered_tokens = most}, w.contents, w.requests.size(), true);
    // A list a replica: its texts, that seen last in front, and how far each goes.
    std::vector<std::list<TextBlocks>> memory(static_cast<std::size_t>(replicas));
    for (std::int32_t i = 0; i < replicas; ++i) knows.add_replica(i, 16);
    for (std::int32_t r = 0; r < std::ssize(w.requests); ++r) {
      const std::int64_t input = w.requests[static_cast<std::size_t>(r)].input_tokens;
      const auto holders = holders_by_replica(knows, r, input);
      for (std::int32_t i = 0; i < replicas; ++i) {
        std::set<Block> there;
        for (const TextBlocks& seen : memory[static_cast<std::size_t>(i)])
          for (std::int64_t t = seen.first; t < seen.last; ++t) there.emplace(seen.text, t);
        REQUIRE(std::ssize(there) <= most);
        const std::int64_t tokens = beginning_in(there, blocks_of(w.contents, r, input, 1));
        REQUIRE((holders.contains(i) ? holders.at(i).tokens : 0) == tokens);
      }
      const auto to = static_cast<std::int32_t>(dice(0, replicas - 1));
      knows.sent(r, input, to, 0);
      std::list<TextBlocks>& seen = memory[static_cast<std::size_t>(to)];
      TextPath path(w.contents, 1);
      const auto parts = path(r, input);
      for (std::size_t i = parts.size(); i-- > 0;) {
        TextBlocks part = parts[i];
        std::erase_if(seen, [&](const TextBlocks& old) {
          if (old.text != part.text) return false;
          part.last = std::max(part.last, old.last);
          return true;
        });
        seen.push_front(part);
      }
      const auto size = [&] {
        std::int64_t tokens = 0;
        for (const TextBlocks& part : seen) tokens += part.last - part.first;
        return tokens;
      };
      for (; size() > most; ++forgotten) seen.pop_back();
    }
  }
  CHECK(forgotten > 1000);
}
