#pragma once
// Numbers side by side under a tree of the least of them, so that neither a change nor the least of thousands
// costs a walk through all. Equals are counted, for whoever picks one of them at random.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir {

class LeastLoads {
 public:
  void add(double load);
  void set(std::size_t at, double load);
  std::size_t size() const { return size_; }
  double operator[](std::size_t at) const { return nodes_[leaves() + at].least; }
  // The least, how many are as low, and where the k-th of these is, from the left. Not of none.
  double least() const { return nodes_[1].least; }
  std::size_t ties() const { return nodes_[1].ties; }
  std::size_t tie(std::size_t k) const;

 private:
  struct Node {
    double least;
    std::size_t ties;
  };
  std::size_t leaves() const { return nodes_.size() / 2; }
  void join(std::size_t at);

  std::size_t size_ = 0;
  // A heap-shaped tree, with as many leaves as a power of two: 1 is the root, 2 i and 2 i + 1 the children of
  // i.
  std::vector<Node> nodes_;
};

}  // namespace weir
