#include <boost/range/iterator_range.hpp>

#include "models/llm/operator_graph.h"

namespace weir {
namespace {

// Vertices are numbered in a topological order, before and after.
OperatorGraph spread(const OperatorGraph& from, std::span<const int> members) {
  OperatorGraph to;
  std::vector<std::vector<std::size_t>> became(boost::num_vertices(from));
  for (const auto v : boost::make_iterator_range(boost::vertices(from))) {
    Operator op = from[v];
    const int copies = op.each_member ? members[static_cast<std::size_t>(op.unit)] : 1;
    for (int i = 0; i < copies; ++i) {
      if (op.each_member) op.member = i;
      became[v].push_back(boost::add_vertex(op, to));
    }
    for (const auto edge : boost::make_iterator_range(boost::in_edges(v, from))) {
      const auto u = boost::source(edge, from);
      const bool pairs = op.each_member && from[u].each_member && from[u].unit == op.unit;
      for (std::size_t i = 0; i < became[u].size(); ++i)
        for (std::size_t k = 0; k < became[v].size(); ++k)
          if (!pairs || i == k) boost::add_edge(became[u][i], became[v][k], to);
    }
  }
  return to;
}

}  // namespace

StageGraph spread_over_members(StageGraph stage, std::span<const int> members) {
  for (OperatorGraph* graph : {&stage.prologue, &stage.block, &stage.epilogue})
    *graph = spread(*graph, members);
  return stage;
}

}  // namespace weir
