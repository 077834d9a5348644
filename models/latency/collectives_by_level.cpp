#include "models/latency/collectives_by_level.h"

#include <algorithm>
#include <bit>

namespace weir {
namespace {

using Rounds = std::vector<std::vector<Message>>;

// Up a binary tree and down again, all of the payload a hop.
Seconds tree_time(Bytes bytes, const NodeLevels& levels) {
  const int depth = static_cast<int>(std::bit_width(static_cast<unsigned>(levels.nodes - 1)));
  return 2 * depth * (levels.network.latency + bytes / levels.network.bandwidth);
}

bool tree_is_shorter(Bytes bytes, const NodeLevels& levels) {
  return tree_time(bytes, levels) <
         make_collectives(levels.network, "")->time(Collective::all_reduce, bytes, levels.nodes);
}

// The collectives inside a node before and after the one between nodes.
struct Inside {
  bool before = false, after = false;
  Collective first = Collective::reduce_scatter, last = Collective::all_gather;
};

Inside inside_of(Collective op) {
  switch (op) {
    case Collective::all_reduce:
      return {true, true};
    case Collective::reduce_scatter:
      return {true, false};
    case Collective::all_gather:
      return {false, true};
    case Collective::all_to_all:  // each to its like in every node, and these to whoever it is for
      return {false, true, {}, Collective::all_to_all};
    case Collective::send_receive:
      break;
  }
  return {};
}

// A device's share of the payload between nodes; in an all-to-all that is all it sends.
Bytes part(Collective op, Bytes bytes, const NodeLevels& levels) {
  const bool whole = op == Collective::all_to_all || op == Collective::send_receive;
  return whole ? bytes : bytes / levels.per_node;
}

class ByLevel final : public CollectiveModel {
 public:
  ByLevel(std::shared_ptr<const CollectiveModel> inside, NodeLevels levels)
      : inside_(std::move(inside)),
        between_(make_collectives(levels.network, "")),
        levels_(std::move(levels)) {}

  // A group that a node holds stays in it.
  Seconds time(Collective op, Bytes bytes, int devices) const override {
    if (devices <= levels_.per_node) return inside_->time(op, bytes, devices);
    const Inside inside = inside_of(op);
    Seconds sum = between(op, part(op, bytes, levels_));
    if (inside.before) sum += inside_->time(inside.first, bytes, levels_.per_node);
    if (inside.after) sum += inside_->time(inside.last, bytes, levels_.per_node);
    return sum;
  }

  Bytes sent(Collective op, Bytes bytes, int devices) const override {
    if (devices <= levels_.per_node) return inside_->sent(op, bytes, devices);
    const Inside inside = inside_of(op);
    Bytes sum = between_->sent(op, part(op, bytes, levels_), levels_.nodes);
    if (inside.before) sum += inside_->sent(inside.first, bytes, levels_.per_node);
    if (inside.after) sum += inside_->sent(inside.last, bytes, levels_.per_node);
    return sum;
  }

 private:
  Seconds between(Collective op, Bytes bytes) const {
    const Seconds ring = between_->time(op, bytes, levels_.nodes);
    return op == Collective::all_reduce ? std::min(ring, tree_time(bytes, levels_)) : ring;
  }

  std::shared_ptr<const CollectiveModel> inside_, between_;
  NodeLevels levels_;
};

// Children send to parents, the deepest first, and hear back.
Rounds tree_rounds(Bytes bytes, int nodes) {
  Rounds up;
  for (int step = 1; step < nodes; step *= 2) {
    up.emplace_back();
    for (int from = step; from < nodes; from += 2 * step) up.back().push_back({from, from - step, bytes});
  }
  Rounds rounds = up;
  for (auto round = up.rbegin(); round != up.rend(); ++round) {
    rounds.emplace_back();
    for (const Message& m : *round) rounds.back().push_back({m.to, m.from, m.bytes});
  }
  return rounds;
}

// The same rounds in each of several groups at once; `rank` says who is the i-th of a group.
template <class Rank>
void append(Rounds& all, const Rounds& one, int groups, const Rank& rank) {
  for (const auto& round : one) {
    all.emplace_back();
    for (int group = 0; group < groups; ++group)
      for (const Message& m : round) all.back().push_back({rank(group, m.from), rank(group, m.to), m.bytes});
  }
}

}  // namespace

std::shared_ptr<const CollectiveModel> make_collectives_by_level(const LinkSpec& inside,
                                                                 const std::string& library,
                                                                 const NodeLevels& levels) {
  return std::make_shared<ByLevel>(make_collectives(inside, library.empty() ? "" : "nccl"), levels);
}

Rounds rounds_by_level(Collective op, Bytes bytes, const LinkSpec& inside, const NodeLevels& levels) {
  const int nodes = levels.nodes, per_node = levels.per_node;
  const Inside within = inside_of(op);
  const auto in_node = [&](int node, int i) { return node * per_node + i; };
  const auto likes = [&](int i, int node) { return node * per_node + i; };
  Rounds all;
  if (within.before) append(all, plain_rounds(within.first, bytes, per_node, inside.shape), nodes, in_node);
  const Bytes between = part(op, bytes, levels);
  const bool tree = op == Collective::all_reduce && tree_is_shorter(between, levels);
  append(all, tree ? tree_rounds(between, nodes) : plain_rounds(op, between, nodes, levels.network.shape),
         op == Collective::send_receive ? 1 : per_node, likes);
  if (within.after) append(all, plain_rounds(within.last, bytes, per_node, inside.shape), nodes, in_node);
  return all;
}

}  // namespace weir
