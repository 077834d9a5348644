#pragma once
// A step computes some of a layer's neurons, where activations are sparse: a token needs the rows and columns
// of matrices that belong to its active neurons. They differ from layer to layer and from step to step. The
// engine finds them out, an operator says which are its own (Operator::neurons), devices price them. Pure
// values.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace weir {

// A place (a unit, or one of its members) has so many to do in one layer.
struct ActiveNeurons {
  double read = 0;      // expected to be active: the matrices that lead to them are read
  double computed = 0;  // of these, those that are: the matrix behind them is read too
  double uses = 0;      // computed, each counted for every sequence that needs it
};

// A step has these, by what an operator does (Operator::neurons) and by layer.
class NeuronLoads {
 public:
  NeuronLoads() = default;
  // `members`: of each of these, how many places share its work.
  NeuronLoads(std::size_t layers, std::vector<std::size_t> members) : members_(std::move(members)) {
    first_.reserve(members_.size());
    for (const std::size_t count : members_) {
      first_.push_back(works_.size());
      works_.resize(works_.size() + layers * count);
    }
  }
  std::span<ActiveNeurons> at(int what, std::size_t layer) {
    return {works_.data() + index(what, layer), count(what)};
  }
  std::span<const ActiveNeurons> at(int what, std::size_t layer) const {
    return {works_.data() + index(what, layer), count(what)};
  }

 private:
  std::size_t count(int what) const { return members_[static_cast<std::size_t>(what)]; }
  std::size_t index(int what, std::size_t layer) const {
    return first_[static_cast<std::size_t>(what)] + layer * count(what);
  }

  std::vector<std::size_t> members_, first_;
  std::vector<ActiveNeurons> works_;
};

}  // namespace weir
