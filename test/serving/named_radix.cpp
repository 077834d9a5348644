#include "test/serving/named_radix.h"

#include <algorithm>

namespace weir::test {

std::vector<NamedRadix::Page> NamedRadix::pages(std::int32_t request, std::int64_t tokens) const {
  std::vector<Page> key;
  const auto& text = texts_[static_cast<std::size_t>(request)].tokens;
  for (std::int64_t i = 0; (i + 1) * limits_.block_tokens <= tokens; ++i)
    key.emplace_back(text.begin() + i * limits_.block_tokens, text.begin() + (i + 1) * limits_.block_tokens);
  return key;
}

// _match_prefix_helper() and _split_node()
std::pair<NamedRadix::Node*, std::int64_t> NamedRadix::match(const std::vector<Page>& key) {
  Node* node = &root_;
  std::int64_t at = 0;
  const std::int64_t time = ++now_;
  while (at < std::ssize(key)) {
    const auto child = std::ranges::find_if(
        node->children, [&](const auto& c) { return c->pages[0] == key[static_cast<std::size_t>(at)]; });
    if (child == node->children.end()) break;
    Node* next = child->get();
    next->time = time;
    std::int64_t same = 0;
    while (same < std::ssize(next->pages) && at + same < std::ssize(key) &&
           next->pages[static_cast<std::size_t>(same)] == key[static_cast<std::size_t>(at + same)])
      ++same;
    at += same;
    if (same == std::ssize(next->pages)) {
      node = next;
      continue;
    }
    auto head = std::make_unique<Node>();
    head->pages.assign(next->pages.begin(), next->pages.begin() + same);
    head->parent = node;
    head->locks = next->locks;
    head->time = ++now_;
    next->pages.erase(next->pages.begin(), next->pages.begin() + same);
    next->parent = head.get();
    head->children.push_back(std::move(*child));
    *child = std::move(head);
    return {child->get(), at};
  }
  return {node, at};
}

std::int64_t NamedRadix::unlocked(const Node& node) {
  std::int64_t pages = node.locks == 0 ? std::ssize(node.pages) : 0;
  for (const auto& child : node.children) pages += unlocked(*child);
  return pages;
}

void NamedRadix::oldest_leaf(Node& node, Node*& oldest) {
  for (const auto& child : node.children) oldest_leaf(*child, oldest);
  const bool leaf = node.children.empty() && node.locks == 0 && node.parent;
  if (leaf && (!oldest || node.time < oldest->time)) oldest = &node;
}

std::int64_t NamedRadix::find(std::int32_t request) {
  found_ = match(pages(request, at(request).known - 1));
  return found_.second * limits_.block_tokens;
}

bool NamedRadix::reserve(std::int32_t request, std::int64_t blocks, std::int64_t claimed) {
  if (claimed - held(request).blocks > free()) return false;
  promised_ += std::max<std::int64_t>(0, blocks - held(request).blocks);
  held(request).blocks = std::max(held(request).blocks, blocks);
  return true;
}

bool NamedRadix::extend(std::int32_t request, std::int64_t tokens) {
  return reserve(request, blocks_for(tokens), blocks_for(tokens));
}

bool NamedRadix::admit(std::int32_t request, std::int64_t tokens) {
  lock(found_.first, 1);
  held(request) = {found_.first, found_.second, found_.second};
  if (reserve(request, blocks_for(tokens), claim(request, tokens))) return true;
  lock(found_.first, -1);
  held(request) = {};
  return false;
}

// alloc_token_slots(): evict() what lacks, leaf by leaf.
void NamedRadix::decided() {
  while (empty_ < promised_) {
    Node* leaf = nullptr;
    oldest_leaf(root_, leaf);
    empty_ += std::ssize(leaf->pages);
    std::erase_if(leaf->parent->children, [&](const auto& child) { return child.get() == leaf; });
  }
  empty_ -= promised_;
  promised_ = 0;
}

// cache_unfinished_req(): what is there twice is given back.
void NamedRadix::insert(std::int32_t request, std::int64_t tokens) {
  Held& mine = held(request);
  const std::vector<Page> key = pages(request, tokens);
  if (std::ssize(key) <= mine.in_tree) return;
  auto [node, there] = match(key);
  empty_ += there - mine.in_tree;
  if (there < std::ssize(key)) {
    auto leaf = std::make_unique<Node>();
    leaf->pages.assign(key.begin() + there, key.end());
    leaf->parent = node;
    leaf->time = ++now_;
    node->children.push_back(std::move(leaf));
    node = node->children.back().get();
  }
  lock(node, 1);
  lock(mine.last, -1);
  mine.last = node;
  mine.in_tree = std::ssize(key);
}

void NamedRadix::computed(std::int32_t request) {
  const Running& r = at(request);
  if (r.computed <= r.prompt) insert(request, r.computed);
}

// cache_finished_req(); what is retracted comes in no further (release_req).
void NamedRadix::give(std::int32_t request, bool ended) {
  if (ended) insert(request, at(request).computed);
  Held& mine = held(request);
  lock(mine.last, -1);
  empty_ += mine.blocks - mine.in_tree;
  mine = {};
}

}  // namespace weir::test
