#pragma once
// The prompts of requests that a router has sent and that have not ended: how many full blocks they are on
// each replica, one that several begin with counted once, as Dynamo's router counts them
// (lib/kv-router/src/sequences/single.rs, commit 04df1c42).
#include <span>

#include "sim/serving/kv/blocks/kv_blocks.h"
#include "sim/serving/routing/text_table.h"

namespace weir {

class ActivePrompts {
 public:
  // A prompt, its blocks by owner (TextPath). Returns how many blocks that no other one there has.
  std::int64_t add(std::int32_t replica, std::span<const TextBlocks> prompt);
  std::int64_t remove(std::int32_t replica, std::span<const TextBlocks> prompt);
  // Calls it with each replica that has blocks of a text, and with the end of the last of these.
  template <class Visit>
  void each(std::int32_t text, Visit visit) const {
    table_.each(text, [&](const auto& entry) {
      if (entry.value.most.prompts > 0) visit(entry.replica, entry.value.most.end);
    });
  }

 private:
  struct Ends {  // where in a text prompts leave it
    std::int64_t end = 0;
    std::int64_t prompts = 0;
  };
  struct Users {
    Ends most;
    std::vector<Ends> less;  // nearly always empty: prompts that share a text leave it at one place
  };
  TextTable<Users> table_;
};

}  // namespace weir
