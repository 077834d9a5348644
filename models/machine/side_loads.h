#pragma once
// Work of a step that its rows do not say: a layer does some of its work, another part in each layer and in
// each step, as where activations are sparse. Something beside the engine finds it out; an operator says
// which is its own (Operator::slot), and devices price it. Pure values.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace weir {

// A place (a unit, or one of its members) has so many to do in one layer: neurons, for instance.
struct SideLoad {
  double read = 0;      // that may be needed: the matrices that lead to them are read
  double computed = 0;  // that are needed: the matrix behind them is read too
  double uses = 0;      // computed, each counted for every sequence that needs it
};

// A step has these, by slot and by layer.
class SideLoads {
 public:
  SideLoads() = default;
  // `members`: how many places share the work of each slot.
  SideLoads(std::size_t layers, std::vector<std::size_t> members) : members_(std::move(members)) {
    first_.reserve(members_.size());
    for (const std::size_t count : members_) {
      first_.push_back(works_.size());
      works_.resize(works_.size() + layers * count);
    }
  }
  std::span<SideLoad> at(int slot, std::size_t layer) {
    return {works_.data() + index(slot, layer), count(slot)};
  }
  std::span<const SideLoad> at(int slot, std::size_t layer) const {
    return {works_.data() + index(slot, layer), count(slot)};
  }

 private:
  std::size_t count(int slot) const { return members_[static_cast<std::size_t>(slot)]; }
  std::size_t index(int slot, std::size_t layer) const {
    return first_[static_cast<std::size_t>(slot)] + layer * count(slot);
  }

  std::vector<std::size_t> members_, first_;
  std::vector<SideLoad> works_;
};

}  // namespace weir
