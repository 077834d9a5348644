#include <algorithm>
#include <boost/range/iterator_range.hpp>

#include "models/llm/operator_graph.h"

namespace weir {
namespace {

class Spreader {
 public:
  Spreader(std::span<const int> members, MemberChannels channels) : members_(members), channels_(channels) {}

  // Vertices are numbered in a topological order, before and after.
  OperatorGraph spread(const OperatorGraph& from, bool layered) const {
    OperatorGraph to;
    std::vector<std::vector<std::size_t>> became(boost::num_vertices(from));
    for (const auto v : boost::make_iterator_range(boost::vertices(from))) {
      became[v] = add_copies(to, from[v], layered);
      for (const auto edge : boost::make_iterator_range(boost::in_edges(v, from))) {
        const auto u = boost::source(edge, from);
        const bool pairs = from[v].each_member && from[u].each_member && from[u].unit == from[v].unit;
        for (std::size_t i = 0; i < became[u].size(); ++i)
          for (std::size_t k = 0; k < became[v].size(); ++k)
            if (!pairs || i == k) boost::add_edge(became[u][i], became[v][k], to);
      }
    }
    return to;
  }

 private:
  std::vector<std::size_t> add_copies(OperatorGraph& to, Operator op, bool layered) const {
    if (!op.each_member) return {boost::add_vertex(op, to)};
    std::vector<std::size_t> copies;
    op.rotates = layered && channels_ == MemberChannels::rotating;
    const int members = members_[static_cast<std::size_t>(op.unit)];
    for (op.member = 0; op.member < members; ++op.member) {
      if (channels_ != MemberChannels::even) op.channel = op.member;
      copies.push_back(boost::add_vertex(op, to));
    }
    return copies;
  }

  std::span<const int> members_;
  MemberChannels channels_;
};

}  // namespace

StageGraph spread_over_members(StageGraph stage, std::span<const int> members, MemberChannels channels) {
  const Spreader spreader(members, channels);
  StageGraph spread;
  spread.layers = stage.layers;
  spread.prologue = spreader.spread(stage.prologue, false);
  spread.block = spreader.spread(stage.block, true);
  spread.epilogue = spreader.spread(stage.epilogue, false);
  return spread;
}

}  // namespace weir
