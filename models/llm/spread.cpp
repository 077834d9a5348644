#include <algorithm>
#include <boost/range/iterator_range.hpp>

#include "models/llm/operator_graph.h"

namespace weir {
namespace {

class Spreader {
 public:
  Spreader(std::span<const int> members, bool even) : members_(members), even_(even) {}

  // Appends a copy of `from` as it is in layer `layer`, behind all of `before`; returns what ends it.
  // Vertices are numbered in a topological order, before and after.
  std::vector<std::size_t> append(OperatorGraph& to, const OperatorGraph& from, int layer = 0,
                                  const std::vector<std::size_t>& before = {}) const {
    std::vector<std::vector<std::size_t>> became(boost::num_vertices(from));
    std::vector<std::size_t> last;
    for (const auto v : boost::make_iterator_range(boost::vertices(from))) {
      became[v] = add_copies(to, from[v], layer);
      for (const std::size_t copy : became[v]) {
        if (boost::in_degree(v, from) == 0)
          for (const std::size_t u : before) boost::add_edge(u, copy, to);
        if (boost::out_degree(v, from) == 0) last.push_back(copy);
      }
      for (const auto edge : boost::make_iterator_range(boost::in_edges(v, from))) {
        const auto u = boost::source(edge, from);
        const bool pairs = from[v].each_member && from[u].each_member && from[u].unit == from[v].unit;
        for (std::size_t i = 0; i < became[u].size(); ++i)
          for (std::size_t k = 0; k < became[v].size(); ++k)
            if (!pairs || i == k) boost::add_edge(became[u][i], became[v][k], to);
      }
    }
    return last;
  }

  int most_members(const OperatorGraph& part) const {
    int most = 1;
    for (const auto v : boost::make_iterator_range(boost::vertices(part)))
      if (part[v].each_member) most = std::max(most, members_[static_cast<std::size_t>(part[v].unit)]);
    return most;
  }

 private:
  std::vector<std::size_t> add_copies(OperatorGraph& to, Operator op, int layer) const {
    if (!op.each_member) return {boost::add_vertex(op, to)};
    std::vector<std::size_t> copies;
    const int members = members_[static_cast<std::size_t>(op.unit)];
    for (op.member = 0; op.member < members; ++op.member) {
      if (!even_) op.channel = ((op.member - layer) % members + members) % members;
      copies.push_back(boost::add_vertex(op, to));
    }
    return copies;
  }

  std::span<const int> members_;
  bool even_;
};

}  // namespace

StageGraph spread_over_members(StageGraph stage, std::span<const int> members, MemberChannels channels) {
  const Spreader spreader(members, channels == MemberChannels::even);
  const int period = channels == MemberChannels::rotating ? spreader.most_members(stage.block) : 1;
  StageGraph spread;
  spread.layers = stage.layers / period;
  spreader.append(spread.prologue, stage.prologue);
  std::vector<std::size_t> before;
  for (int layer = 0; layer < period; ++layer)
    before = spreader.append(spread.block, stage.block, layer, before);
  before.clear();
  for (int layer = 0; layer < stage.layers % period; ++layer)
    before = spreader.append(spread.epilogue, stage.block, layer, before);
  spreader.append(spread.epilogue, stage.epilogue, 0, before);
  return spread;
}

}  // namespace weir
