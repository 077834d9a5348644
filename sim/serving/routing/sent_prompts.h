#pragma once
// A router's memory of the prompts that it sent, for want of news from the replicas: of each replica
// the beginnings that it has seen, as many tokens as the router cares to keep. What was not seen for longest
// is forgotten first, the end of a prompt before its beginning, a text's share of it at a time, as leaves of
// the tree of SGLang's router are (sgl-router/src/tree.rs).
#include <span>

#include "sim/serving/kv/blocks/kv_blocks.h"
#include "sim/serving/routing/text_table.h"

namespace weir {

class SentPrompts {
 public:
  explicit SentPrompts(std::int64_t most_tokens) : most_tokens_(most_tokens) {}
  // A prompt, its tokens by owner (TextPath with blocks of one token).
  void add(std::int32_t replica, std::span<const TextBlocks> prompt);
  // Calls it with each replica that was sent a beginning of a text, and how far it goes.
  template <class Visit>
  void each(std::int32_t text, Visit visit) const {
    table_.each(text, [&](const auto& entry) {
      if (entry.value.last > 0) visit(entry.replica, entry.value.last);
    });
  }

 private:
  struct Seen {
    std::int64_t first = 0, last = 0;     // tokens of the text; 0, 0: none
    std::int32_t newer = -1, older = -1;  // entries of the replica
  };
  struct Replica {
    std::int32_t newest = -1, oldest = -1;
    std::int64_t tokens = 0;
  };
  void unlink(Replica& replica, std::int32_t entry);
  void make_newest(Replica& replica, std::int32_t entry);

  std::int64_t most_tokens_;
  TextTable<Seen> table_;
  std::vector<Replica> replicas_;
};

}  // namespace weir
