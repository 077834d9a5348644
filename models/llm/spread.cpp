#include <algorithm>
#include <boost/range/iterator_range.hpp>

#include "models/llm/operator_graph.h"

namespace weir {
namespace {

// Appends a copy of `from` as it is in layer `layer`, behind all of `before`; returns what ends it. Vertices
// are numbered in a topological order, before and after.
std::vector<std::size_t> append(OperatorGraph& to, const OperatorGraph& from, std::span<const int> members,
                                int layer, const std::vector<std::size_t>& before) {
  std::vector<std::vector<std::size_t>> became(boost::num_vertices(from));
  std::vector<std::size_t> last;
  for (const auto v : boost::make_iterator_range(boost::vertices(from))) {
    Operator op = from[v];
    const int copies = op.each_member ? members[static_cast<std::size_t>(op.unit)] : 1;
    for (int i = 0; i < copies; ++i) {
      if (op.each_member) op.member = i, op.channel = ((i - layer) % copies + copies) % copies;
      became[v].push_back(boost::add_vertex(op, to));
      if (boost::in_degree(v, from) == 0)
        for (const std::size_t u : before) boost::add_edge(u, became[v].back(), to);
      if (boost::out_degree(v, from) == 0) last.push_back(became[v].back());
    }
    for (const auto edge : boost::make_iterator_range(boost::in_edges(v, from))) {
      const auto u = boost::source(edge, from);
      const bool pairs = op.each_member && from[u].each_member && from[u].unit == op.unit;
      for (std::size_t i = 0; i < became[u].size(); ++i)
        for (std::size_t k = 0; k < became[v].size(); ++k)
          if (!pairs || i == k) boost::add_edge(became[u][i], became[v][k], to);
    }
  }
  return last;
}

int period_of(const OperatorGraph& block, std::span<const int> members) {
  int period = 1;
  for (const auto v : boost::make_iterator_range(boost::vertices(block)))
    if (block[v].each_member) period = std::max(period, members[static_cast<std::size_t>(block[v].unit)]);
  return period;
}

}  // namespace

StageGraph spread_over_members(StageGraph stage, std::span<const int> members, bool rotating) {
  const int period = rotating ? period_of(stage.block, members) : 1;
  StageGraph spread;
  spread.layers = stage.layers / std::max(period, 1);
  append(spread.prologue, stage.prologue, members, 0, {});
  std::vector<std::size_t> before;
  for (int layer = 0; layer < period; ++layer)
    before = append(spread.block, stage.block, members, layer, before);
  before.clear();
  for (int layer = 0; layer < stage.layers % period; ++layer)
    before = append(spread.epilogue, stage.block, members, layer, before);
  append(spread.epilogue, stage.epilogue, members, 0, before);
  return spread;
}

}  // namespace weir
