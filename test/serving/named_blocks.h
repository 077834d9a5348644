#pragma once
// vLLM v1's KV cache with every block named, one block at a time: BlockPool and KVCacheManager (vllm/v1/core,
// commit 00024d3) by the rules that docs/kv_reuse.md lists.
#include <deque>
#include <map>

#include "test/serving/named_engine.h"

namespace weir::test {

class NamedBlocks final : public NamedEngine {
 public:
  NamedBlocks(Limits limits, std::vector<NamedText> texts)
      : NamedEngine(std::move(limits), std::move(texts)) {
    blocks_.resize(static_cast<std::size_t>(limits_.blocks));
    for (std::int64_t i = 0; i < limits_.blocks; ++i) free_.push_back(i);
    held_.resize(texts_.size());
  }
  std::int64_t free() const override { return std::ssize(free_); }

 private:
  using Hash = std::pair<std::int32_t, std::vector<Token>>;  // of its own request, or of all (-1)
  struct Block {
    const Hash* hash = nullptr;
    std::int64_t holders = 0;
  };
  struct Held {
    std::vector<std::int64_t> blocks;
    std::size_t hashed = 0;
  };
  std::int64_t find(std::int32_t request) override;
  bool admit(std::int32_t request, std::int64_t tokens) override;
  bool extend(std::int32_t request, std::int64_t tokens) override;
  void computed(std::int32_t request) override;
  void give(std::int32_t request, bool ended) override;

  Block& block(std::int64_t name) { return blocks_[static_cast<std::size_t>(name)]; }
  Held& held(std::int32_t request) { return held_[static_cast<std::size_t>(request)]; }
  Hash hash(std::int32_t request, std::size_t i) const {
    return {limits_.shared ? -1 : request,
            prefix(request, static_cast<std::int64_t>(i), limits_.block_tokens)};
  }
  void take(std::int32_t request, std::int64_t tokens);

  std::vector<Block> blocks_;
  std::vector<Held> held_;
  std::vector<std::int64_t> hits_;  // of whoever was looked up last
  std::deque<std::int64_t> free_;
  std::map<Hash, std::vector<std::int64_t>> cached_;  // in the order in which they were there
};

}  // namespace weir::test
