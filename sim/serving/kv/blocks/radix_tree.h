#pragma once
// The blocks of a KV channel as SGLang's RadixCache keeps them (python/sglang/srt/mem_cache/radix_cache.py,
// commit 006b0e3): a tree whose nodes are what several texts have in common, split where they part. Prompts
// come in chunk by chunk, answers when they end; what is there already is given back. A request holds the
// path to its last node. Leaves that nobody holds go whole, the least recently used first, once no free block
// is left that holds nothing.
#include <set>
#include <unordered_map>
#include <utility>

#include "sim/serving/kv/blocks/kv_blocks.h"

namespace weir {

class RadixTree final : public KvBlocks {
 public:
  RadixTree();
  void take(std::int64_t blocks, std::int64_t free) override;
  void give(std::int64_t) override {}
  std::int64_t release(Holding& holding, std::int64_t others, std::int64_t free) override;
  // A scheduler's look uses the nodes, and splits one that it ends in.
  std::int64_t find(std::span<const TextBlocks> text, std::int64_t taken, Look look,
                    std::vector<Piece>& pieces) override;
  std::int64_t hold(std::span<const Piece> pieces, std::int32_t own, std::int64_t asked,
                    Holding& holding) override;
  std::int64_t publish(std::span<const TextBlocks> text, Holding& holding) override;
  void begin_batch() override { ++batch_; }
  std::int64_t promise(std::span<const Piece> pieces) override;
  std::int64_t give_up(const Holding& holding) override;
  std::int64_t held(std::span<const Piece> pieces) const override;
  std::int64_t end_of_text(std::int32_t text) const override;
  std::int64_t free_before(std::span<const Piece> pieces, std::int64_t free) override {
    return pieces.empty() ? free : free - kept_;
  }

 private:
  static constexpr std::int32_t root = 0, none = -1;
  struct Node {
    std::vector<TextBlocks> parts;  // by owner
    std::int64_t first = 0, last = 0;
    std::int32_t parent = none, children = 0, holders = 0;
    std::int32_t promised = 0;  // holders that the batch adds, or takes away
    std::uint64_t batch = 0;    // in which that was said
    std::uint64_t used = 0;     // when
    std::int64_t size() const { return last - first; }
  };
  struct End {  // of what is there
    std::int32_t node;
    std::int64_t blocks;
  };
  Node& at(std::int32_t node) { return nodes_[static_cast<std::size_t>(node)]; }
  const Node& at(std::int32_t node) const { return nodes_[static_cast<std::size_t>(node)]; }
  static std::uint64_t link(std::int32_t node, std::int32_t owner) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(node)) << 32 |
           static_cast<std::uint32_t>(owner);
  }
  std::int32_t make(std::int32_t parent, std::vector<TextBlocks> parts);
  End match(std::span<const TextBlocks> text, bool uses);
  std::int32_t split(std::int32_t node, std::int64_t at_block);
  void use(std::int32_t node, std::uint64_t when);
  std::int64_t lock(std::int32_t node);    // returns how many blocks were nobody's
  std::int64_t unlock(std::int32_t node);  // and are
  void evict(std::int32_t leaf);
  void tell_come(const Node& leaf);
  void tell_gone(const Node& leaf);
  void enter_or_leave_leaves(std::int32_t node);
  std::int32_t holders(const Node& node) const {
    return node.holders + (node.batch == batch_ ? node.promised : 0);
  }
  std::int64_t add_promise(std::int32_t node, std::int32_t holders);

  std::vector<Node> nodes_;
  std::vector<std::int32_t> unused_;
  std::unordered_map<std::uint64_t, std::int32_t> children_;  // by parent and the owner of their first block
  std::set<std::pair<std::uint64_t, std::int32_t>> leaves_;   // that nobody holds, by when they were used
  std::unordered_map<std::int32_t, std::int64_t> ends_;       // of texts, where somebody follows
  std::uint64_t now_ = 0, batch_ = 1;
};

}  // namespace weir
