#include "sim/step/alternation.h"

#include <boost/range/iterator_range.hpp>
#include <utility>

namespace weir {
namespace {

enum class Sends { nothing, out, back };

Sends sends(const Operator& op) {
  const auto* call = op.as<Communication>();
  if (!call || call->among != Communication::Among::stage) return Sends::nothing;
  const bool back = call->experts ? call->experts->back : call->collective == Collective::reduce_scatter;
  return back ? Sends::back : Sends::out;
}

// Marks the operators that `from` leads to, or that lead to it.
std::vector<bool> before_or_behind(const OperatorGraph& layer, std::size_t from) {
  std::vector<bool> before(boost::num_vertices(layer)), behind(before.size());
  before[from] = behind[from] = true;
  for (std::size_t v = from; v-- > 0;)  // vertices are in a topological order
    for (const auto edge : boost::make_iterator_range(boost::out_edges(v, layer)))
      before[v] = before[v] || before[boost::target(edge, layer)];
  for (std::size_t v = from + 1; v < behind.size(); ++v)
    for (const auto edge : boost::make_iterator_range(boost::in_edges(v, layer)))
      behind[v] = behind[v] || behind[boost::source(edge, layer)];
  for (std::size_t v = 0; v < before.size(); ++v) before[v] = before[v] || behind[v];
  return before;
}

class Walk {
 public:
  Walk(const OperatorGraph& layer, const Alternation& how)
      : layer_(layer), how_(how), beside_(boost::num_vertices(layer)) {
    for (std::size_t v = 0; v < beside_.size(); ++v) {
      if (sends(layer[v]) != Sends::out) continue;
      exchanges_ = true;
      const std::vector<bool> ordered = before_or_behind(layer, v);
      for (std::size_t other = 0; other < beside_.size(); ++other)
        if (!ordered[other]) beside_[other] = true;
    }
  }

  LayerTurns turns() {
    LayerTurns turns;
    for (std::size_t v = 0; v < beside_.size(); ++v)
      turns.of.push_back(beside_[v] ? beside() : on_path(layer_[v]));
    turns.all = turn_ + owed_;
    if (!exchanges_) ++turns.all;
    return turns;
  }

 private:
  // The path through all exchanges. `owed_`: turns that its next operator is later.
  int on_path(const Operator& op) {
    const Sends way = sends(op);
    if (way == last_ && way != Sends::nothing) return turn_;  // another kind of kernel for the same
    turn_ += std::exchange(owed_, 0);
    if (how_.attention_apart && exchanges_) {
      if (op.as<Attention>() && !std::exchange(attends_, true)) ++turn_;
      if (way == Sends::out) ++turn_;
    }
    if (exchanges_ ? way == Sends::out : is_collective(op)) owed_ = 1;
    if (way == Sends::out) dispatch_ = turn_;
    if (way == Sends::back) {
      owed_ = how_.attention_apart ? 2 : 1;
      combine_ = turn_;
      attends_ = false;
    }
    last_ = way;
    return turn_;
  }

  int beside() const {
    switch (how_.shared) {
      case Alternation::Shared::behind_dispatch:
        return dispatch_;
      case Alternation::Shared::behind_combine:
        return combine_;
      default:
        return combine_ + owed_;
    }
  }

  const OperatorGraph& layer_;
  const Alternation& how_;
  std::vector<bool> beside_;
  bool exchanges_ = false, attends_ = false;
  Sends last_ = Sends::nothing;
  int turn_ = 0, owed_ = 0, dispatch_ = 0, combine_ = 0;
};

}  // namespace

LayerTurns turns_of(const OperatorGraph& layer, const Alternation& how) {
  return Walk(layer, how).turns();
}

}  // namespace weir
