#include "sim/serving/kv/blocks/radix_tree.h"

#include <algorithm>

namespace weir {
namespace {

// How far two texts that are alike up to a block go on to be, of `text` at most to its end.
std::int64_t alike_until(std::span<const TextBlocks> node, std::span<const TextBlocks> text,
                         std::int64_t block) {
  auto mine = node.begin(), theirs = text.begin();
  while (mine != node.end() && theirs != text.end()) {
    if (mine->last <= block) {
      ++mine;
    } else if (theirs->last <= block) {
      ++theirs;
    } else {
      if (mine->text != theirs->text) break;
      block = std::min(mine->last, theirs->last);
    }
  }
  return block;
}

// The parts of a text from a block on.
std::vector<TextBlocks> parts_from(std::span<const TextBlocks> text, std::int64_t block) {
  std::vector<TextBlocks> parts;
  for (TextBlocks part : text) {
    part.first = std::max(part.first, block);
    if (part.first < part.last) parts.push_back(part);
  }
  return parts;
}

}  // namespace

RadixTree::RadixTree() : nodes_(1) {
  nodes_[0].holders = 1;
}

std::int32_t RadixTree::make(std::int32_t parent, std::vector<TextBlocks> parts) {
  auto node = static_cast<std::int32_t>(nodes_.size());
  if (unused_.empty()) {
    nodes_.emplace_back();
  } else {
    node = unused_.back();
    unused_.pop_back();
    at(node) = {};
  }
  Node& made = at(node);
  made.first = parts.front().first;
  made.last = parts.back().last;
  made.parent = parent;
  made.used = ++now_;
  children_[link(parent, parts.front().text)] = node;
  made.parts = std::move(parts);
  return node;
}

void RadixTree::enter_or_leave_leaves(std::int32_t node) {
  if (node == root) return;
  const Node& n = at(node);
  if (n.holders == 0 && n.children == 0)
    leaves_.emplace(n.used, node);
  else
    leaves_.erase({n.used, node});
}

void RadixTree::use(std::int32_t node, std::uint64_t when) {
  if (leaves_.erase({at(node).used, node}) > 0) leaves_.emplace(when, node);
  at(node).used = when;
}

// The beginning becomes a node of its own, used now; who holds the node holds both.
std::int32_t RadixTree::split(std::int32_t node, std::int64_t at_block) {
  std::vector<TextBlocks> head, tail = parts_from(at(node).parts, at_block);
  for (TextBlocks part : at(node).parts) {
    part.last = std::min(part.last, at_block);
    if (part.first < part.last) head.push_back(part);
  }
  const std::int32_t before = make(at(node).parent, std::move(head));
  Node& begin = at(before);
  Node& rest = at(node);
  begin.holders = rest.holders;
  begin.promised = rest.promised;
  begin.batch = rest.batch;
  begin.children = 1;
  rest.parent = before;
  rest.first = at_block;
  rest.parts = std::move(tail);
  children_[link(before, rest.parts.front().text)] = node;
  return before;
}

RadixTree::End RadixTree::match(std::span<const TextBlocks> text, bool uses) {
  End end{root, 0};
  const std::uint64_t when = uses ? ++now_ : now_;
  for (auto part = text.begin();;) {
    while (part != text.end() && part->last <= end.blocks) ++part;
    if (part == text.end()) return end;
    const auto child = children_.find(link(end.node, part->text));
    if (child == children_.end()) return end;
    if (uses) use(child->second, when);
    const std::int64_t until = alike_until(at(child->second).parts, text, end.blocks);
    const bool whole = until == at(child->second).last;
    end = {whole || !uses ? child->second : split(child->second, until), until};
    if (!whole) return end;
  }
}

std::int64_t RadixTree::find(std::span<const TextBlocks> text, std::int64_t, Look look,
                             std::vector<Piece>& pieces) {
  const End end = match(text, look == Look::scheduler);
  if (end.blocks > 0) pieces.push_back({end.node, 0, end.blocks});
  return end.blocks;
}

std::int64_t RadixTree::lock(std::int32_t node) {
  std::int64_t blocks = 0;
  for (; node != root; node = at(node).parent) {
    if (at(node).holders++ > 0) continue;
    blocks += at(node).size();
    enter_or_leave_leaves(node);
  }
  kept_ -= blocks;
  return blocks;
}

std::int64_t RadixTree::unlock(std::int32_t node) {
  std::int64_t blocks = 0;
  for (; node != root; node = at(node).parent) {
    if (--at(node).holders > 0) continue;
    blocks += at(node).size();
    enter_or_leave_leaves(node);
  }
  kept_ += blocks;
  return blocks;
}

void RadixTree::tell_come(const Node& leaf) {
  if (!follows()) return;
  for (const TextBlocks& part : leaf.parts) {
    note(part.text);
    ends_[part.text] = part.last;
  }
}

// All of a text that is behind a leaf's beginning is in the leaf; what is before it may be in the node above.
void RadixTree::tell_gone(const Node& leaf) {
  if (!follows()) return;
  const Node& above = at(leaf.parent);
  for (const TextBlocks& part : leaf.parts) {
    note(part.text);
    if (!above.parts.empty() && above.parts.back().text == part.text)
      ends_[part.text] = part.first;
    else
      ends_.erase(part.text);
  }
}

std::int64_t RadixTree::end_of_text(std::int32_t text) const {
  const auto end = ends_.find(text);
  return end == ends_.end() ? 0 : end->second;
}

void RadixTree::evict(std::int32_t leaf) {
  const Node& gone = at(leaf);
  tell_gone(gone);
  leaves_.erase({gone.used, leaf});
  kept_ -= gone.size();
  children_.erase(link(gone.parent, gone.parts.front().text));
  --at(gone.parent).children;
  enter_or_leave_leaves(gone.parent);
  unused_.push_back(leaf);
}

void RadixTree::take(std::int64_t blocks, std::int64_t free) {
  while (blocks > free - kept_ && !leaves_.empty()) evict(leaves_.begin()->second);
}

std::int64_t RadixTree::release(Holding& holding, std::int64_t others, std::int64_t) {
  if (!holding.empty()) others += unlock(holding.back().run);
  holding.clear();
  return others;
}

std::int64_t RadixTree::hold(std::span<const Piece> pieces, std::int32_t, std::int64_t, Holding& holding) {
  if (pieces.empty()) return 0;
  holding.assign(1, pieces.back());
  return lock(pieces.back().run);
}

// Blocks that are there beyond the request's own were computed by another at the same time: the request has
// those instead.
std::int64_t RadixTree::publish(std::span<const TextBlocks> text, Holding& holding) {
  const std::int64_t before = end_of(holding);
  End end = match(text, true);
  const std::int64_t twice = end.blocks - before, were_free = lock(end.node);
  if (end.blocks < text.back().last) {
    const std::int32_t parent = end.node;
    end.node = make(parent, parts_from(text, end.blocks));
    at(end.node).holders = 1;
    tell_come(at(end.node));
    if (at(parent).children++ == 0) enter_or_leave_leaves(parent);
  }
  if (!holding.empty()) unlock(holding.back().run);
  holding.assign(1, {end.node, 0, text.back().last});
  return twice - were_free;
}

std::int64_t RadixTree::add_promise(std::int32_t node, std::int32_t holders) {
  std::int64_t nobodys = 0;
  for (; node != root; node = at(node).parent) {
    Node& n = at(node);
    const bool was_nobodys = this->holders(n) == 0;
    if (n.batch != batch_) n.promised = 0;
    n.batch = batch_;
    n.promised += holders;
    if (holders > 0 ? was_nobodys : this->holders(n) == 0) nobodys += n.size();
  }
  return nobodys;
}

std::int64_t RadixTree::promise(std::span<const Piece> pieces) {
  return pieces.empty() ? 0 : add_promise(pieces.back().run, 1);
}

std::int64_t RadixTree::give_up(const Holding& holding) {
  return holding.empty() ? 0 : add_promise(holding.back().run, -1);
}

std::int64_t RadixTree::held(std::span<const Piece> pieces) const {
  std::int64_t blocks = 0;
  if (pieces.empty()) return 0;
  for (std::int32_t node = pieces.back().run; node != root; node = at(node).parent)
    if (holders(at(node)) > 0) blocks += std::min(at(node).last, pieces.back().last) - at(node).first;
  return blocks;
}

}  // namespace weir
