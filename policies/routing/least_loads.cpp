#include "policies/routing/least_loads.h"

#include <limits>

namespace weir {

void LeastLoads::join(std::size_t at) {
  const Node &left = nodes_[2 * at], &right = nodes_[2 * at + 1];
  if (left.least == right.least)
    nodes_[at] = {left.least, left.ties + right.ties};
  else
    nodes_[at] = left.least < right.least ? left : right;
}

void LeastLoads::add(double load) {
  if (size_ == leaves()) {
    const std::size_t grown = size_ == 0 ? 1 : 2 * size_;
    std::vector<Node> nodes(2 * grown, {std::numeric_limits<double>::infinity(), 0});
    for (std::size_t i = 0; i < size_; ++i) nodes[grown + i] = nodes_[size_ + i];
    nodes_ = std::move(nodes);
    for (std::size_t at = grown - 1; at > 0; --at) join(at);
  }
  ++size_;
  set(size_ - 1, load);
}

void LeastLoads::set(std::size_t at, double load) {
  std::size_t node = leaves() + at;
  nodes_[node] = {load, 1};
  while ((node /= 2) > 0) join(node);
}

std::size_t LeastLoads::tie(std::size_t k) const {
  std::size_t node = 1;
  while (node < leaves()) {
    node *= 2;
    if (nodes_[node].least != least()) {
      ++node;
    } else if (k >= nodes_[node].ties) {
      k -= nodes_[node].ties;
      ++node;
    }
  }
  return node - leaves();
}

}  // namespace weir
