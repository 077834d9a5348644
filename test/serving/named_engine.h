#pragma once
// A scheduler with every token written out, chunked prefill, first come first served, one step at a time:
// vLLM v1's (vllm/v1/core/sched/scheduler.py, commit 00024d3) over a KV cache that is another's (NamedBlocks,
// NamedRadix), and tiers behind it whose chunks have names. The oracle of what requests find on a replica.
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "policies/batching/batching.h"

namespace weir::test {

using Token = std::pair<std::int32_t, std::int64_t>;  // who wrote it, and where in his text

struct NamedText {
  std::vector<Token> tokens;  // prompt and answer
  std::int64_t input;
};

class NamedEngine {
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

  NamedEngine(Limits limits, std::vector<NamedText> texts);
  virtual ~NamedEngine() = default;

  void add(std::int32_t request) { waiting_.push_back(request); }
  std::vector<Slice> step();  // a decision, and its end
  virtual std::int64_t free() const = 0;
  std::int64_t found(std::int32_t request) const { return at(request).found; }  // when it was first admitted
  // And what then came from each tier.
  const std::vector<std::int64_t>& loaded(std::int32_t request) const { return at(request).loaded; }
  std::int64_t preemptions() const { return preemptions_; }
  bool done() const { return running_.empty() && waiting_.empty(); }

 protected:
  struct Running {
    std::int64_t known = 0, computed = 0, found = -1;
    std::int64_t prompt = 0;  // known when it was admitted
    std::vector<std::int64_t> loaded;
  };
  // The cache. What a waiting request would find, in tokens; holds that, if it has room for the request up to
  // there; has room for more of one that runs.
  virtual std::int64_t find(std::int32_t request) = 0;
  virtual bool admit(std::int32_t request, std::int64_t tokens) = 0;
  virtual bool extend(std::int32_t request, std::int64_t tokens) = 0;
  virtual void decided() {}                         // whoever is in the step has its room now
  virtual void computed(std::int32_t request) = 0;  // as far as it says, by the end of the step
  virtual void give(std::int32_t request, bool ended) = 0;

  Running& at(std::int32_t request) { return requests_[static_cast<std::size_t>(request)]; }
  const Running& at(std::int32_t request) const { return requests_[static_cast<std::size_t>(request)]; }
  std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + limits_.block_tokens - 1) / limits_.block_tokens;
  }
  // Admission asks for room of so many blocks.
  std::int64_t claim(std::int32_t request, std::int64_t tokens) const {
    return blocks_for(limits_.admission == Admission::prompt ? std::max(tokens, at(request).known) : tokens);
  }
  // All tokens of a text up to the end of its i-th piece of so many: chains of hashes name all that is
  // before.
  std::vector<Token> prefix(std::int32_t request, std::int64_t i, std::int64_t piece) const;

  Limits limits_;
  std::vector<NamedText> texts_;

 private:
  bool has(std::size_t tier, const std::vector<Token>& chunk) const;
  void use(std::size_t tier, std::int32_t request, std::int64_t first, std::int64_t last, bool used);
  std::vector<std::int64_t> load(std::int32_t request);
  void store(std::int32_t request, bool answered);

  std::vector<Running> requests_;
  std::vector<std::vector<std::vector<Token>>> tiers_;  // chunks of each, the least recently used first
  std::vector<std::int32_t> running_;
  std::deque<std::int32_t> waiting_;
  std::int64_t preemptions_ = 0;
};

}  // namespace weir::test
