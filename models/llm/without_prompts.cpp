#include <algorithm>
#include <boost/range/iterator_range.hpp>

#include "models/llm/operator_graph.h"

namespace weir {
namespace {

bool is_for_prompts(const Operator& op) {
  return op.kind == OperatorKind::store || (op.kind == OperatorKind::attention && op.prefill_only);
}

// Whoever waited for what is left out waits for what that waited for. Vertices are numbered in a topological
// order, before and after.
OperatorGraph without_prompts(const OperatorGraph& from) {
  OperatorGraph to;
  std::vector<std::vector<std::size_t>> stands_for(boost::num_vertices(from));
  for (const auto v : boost::make_iterator_range(boost::vertices(from))) {
    std::vector<std::size_t> before;
    for (const auto edge : boost::make_iterator_range(boost::in_edges(v, from)))
      for (const std::size_t u : stands_for[boost::source(edge, from)])
        if (std::ranges::find(before, u) == before.end()) before.push_back(u);
    if (is_for_prompts(from[v])) {
      stands_for[v] = before;
      continue;
    }
    stands_for[v] = {boost::add_vertex(from[v], to)};
    for (const std::size_t u : before) boost::add_edge(u, stands_for[v][0], to);
  }
  return to;
}

}  // namespace

StageGraph without_prompts(StageGraph stage) {
  for (OperatorGraph* part : {&stage.prologue, &stage.block, &stage.epilogue}) *part = without_prompts(*part);
  return stage;
}

}  // namespace weir
