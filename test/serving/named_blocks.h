#pragma once
// vLLM v1's KV cache and scheduler with every block named and every token written out, one block at a time:
// BlockPool, KVCacheManager and Scheduler (vllm/v1/core, commit 00024d3) by the rules that docs/kv_reuse.md
// lists, chunked prefill, first come first served. The oracle of what requests find in a replica's cache.
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "policies/batching/batching.h"

namespace weir::test {

using Token = std::pair<std::int32_t, std::int64_t>;  // who wrote it, and where in his text

struct NamedText {
  std::vector<Token> tokens;  // prompt and answer
  std::int64_t input;
};

class NamedBlocks {
 public:
  struct Limits {
    std::int64_t block_tokens, blocks, requests, tokens;
    Admission admission;
    bool shared;  // else a request finds its own blocks alone
    // Memories behind the cache, nearest first; stores take no time, and loads none but, where they come
    // beside steps, the one in which room is made.
    struct Tier {
      std::int64_t chunks;
      bool answers;  // are stored as well
    };
    std::vector<Tier> tiers = {};
    std::int64_t chunk_tokens = 1;
    bool loads_beside_steps = false;
  };
  struct Slice {
    std::int32_t request;
    std::int64_t tokens, context;
    bool operator==(const Slice&) const = default;
  };

  NamedBlocks(Limits limits, std::vector<NamedText> texts) : limits_(limits), texts_(std::move(texts)) {
    blocks_.resize(static_cast<std::size_t>(limits.blocks));
    for (std::int64_t i = 0; i < limits.blocks; ++i) free_.push_back(i);
    requests_.resize(texts_.size());
    tiers_.resize(limits_.tiers.size());
    for (std::size_t r = 0; r < texts_.size(); ++r) requests_[r].known = texts_[r].input;
  }

  void add(std::int32_t request) { waiting_.push_back(request); }
  std::vector<Slice> step();  // a decision, and its end
  std::int64_t free() const { return std::ssize(free_); }
  std::int64_t found(std::int32_t request) const { return at(request).found; }  // when it was first admitted
  // And what then came from each tier.
  const std::vector<std::int64_t>& loaded(std::int32_t request) const { return at(request).loaded; }
  std::int64_t preemptions() const { return preemptions_; }
  bool done() const { return running_.empty() && waiting_.empty(); }

 private:
  using Hash = std::pair<std::int32_t, std::vector<Token>>;  // of its own request, or of all (-1)
  struct Block {
    const Hash* hash = nullptr;
    std::int64_t holders = 0;
  };
  struct Running {
    std::int64_t known = 0, computed = 0, found = -1;
    std::vector<std::int64_t> blocks;
    std::size_t hashed = 0;
    std::vector<std::int64_t> loaded;
  };
  Running& at(std::int32_t request) { return requests_[static_cast<std::size_t>(request)]; }
  const Running& at(std::int32_t request) const { return requests_[static_cast<std::size_t>(request)]; }
  Block& block(std::int64_t name) { return blocks_[static_cast<std::size_t>(name)]; }
  std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + limits_.block_tokens - 1) / limits_.block_tokens;
  }
  Hash hash(std::int32_t request, std::size_t i) const;
  std::vector<std::int64_t> find(std::int32_t request) const;
  bool allocate(std::int32_t request, std::int64_t tokens, const std::vector<std::int64_t>& hits);
  void take(std::int32_t request, std::int64_t tokens);
  void give(std::int32_t request);
  void publish(std::int32_t request);
  std::vector<Token> chunk(std::int32_t request, std::int64_t i) const;
  bool has(std::size_t tier, const std::vector<Token>& chunk) const;
  void use(std::size_t tier, std::int32_t request, std::int64_t first, std::int64_t last, bool used);
  std::vector<std::int64_t> load(std::int32_t request);
  void store(std::int32_t request, bool answered);

  Limits limits_;
  std::vector<NamedText> texts_;
  std::vector<Block> blocks_;
  std::vector<Running> requests_;
  std::deque<std::int64_t> free_;
  std::map<Hash, std::vector<std::int64_t>> cached_;    // in the order in which they were there
  std::vector<std::vector<std::vector<Token>>> tiers_;  // chunks of each, the least recently used first
  std::vector<std::int32_t> running_;
  std::deque<std::int32_t> waiting_;
  std::int64_t preemptions_ = 0;
};

}  // namespace weir::test
