#pragma once
// SGLang's RadixCache (python/sglang/srt/mem_cache/radix_cache.py, commit 006b0e3) with every page written out: a
// plain tree, in which whatever is asked is looked for from the root on, and the oldest leaf among all nodes.
#include <memory>

#include "test/serving/named_engine.h"

namespace weir::test {

class NamedRadix final : public NamedEngine {
 public:
  NamedRadix(Limits limits, std::vector<NamedText> texts)
      : NamedEngine(std::move(limits), std::move(texts)), empty_(limits_.blocks), held_(texts_.size()) {}
  std::int64_t free() const override { return empty_ + unlocked(root_) - promised_; }

 private:
  using Page = std::vector<Token>;
  struct Node {
    std::vector<Page> pages;
    Node* parent = nullptr;
    std::vector<std::unique_ptr<Node>> children;
    std::int64_t locks = 0, time = 0;
  };
  struct Held {
    Node* last = nullptr;     // of its path, which is locked
    std::int64_t in_tree = 0, blocks = 0;  // pages there; all that it has
  };
  std::int64_t find(std::int32_t request) override;
  bool admit(std::int32_t request, std::int64_t tokens) override;
  bool extend(std::int32_t request, std::int64_t tokens) override;
  void decided() override;
  void computed(std::int32_t request) override;
  void give(std::int32_t request, bool ended) override;

  Held& held(std::int32_t request) { return held_[static_cast<std::size_t>(request)]; }
  std::vector<Page> pages(std::int32_t request, std::int64_t tokens) const;
  std::pair<Node*, std::int64_t> match(const std::vector<Page>& key);
  void insert(std::int32_t request, std::int64_t tokens);
  static void lock(Node* node, std::int64_t by) {
    for (; node; node = node->parent) node->locks += by;
  }
  static std::int64_t unlocked(const Node& node);
  static void oldest_leaf(Node& node, Node*& oldest);
  bool reserve(std::int32_t request, std::int64_t blocks, std::int64_t claimed);

  Node root_;
  std::int64_t empty_, promised_ = 0, now_ = 0;  // pages that hold nothing; that this step takes
  std::vector<Held> held_;
  std::pair<Node*, std::int64_t> found_;  // by whoever was looked up last
};

}  // namespace weir::test
