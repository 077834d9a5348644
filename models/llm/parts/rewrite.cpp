#include "models/llm/parts/rewrite.h"

#include <algorithm>
#include <boost/range/iterator_range.hpp>
#include <numeric>
#include <stdexcept>

namespace weir {
namespace {

struct Placed {  // vertices of the new graph
  std::vector<std::size_t> first, last;
  int lanes = -1;
};

std::vector<std::size_t> moved(std::vector<std::size_t> chosen, std::size_t count, std::size_t by) {
  if (chosen.empty()) {
    chosen.resize(count);
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  }
  for (std::size_t& index : chosen) index += by;
  return chosen;
}

Placed add(OperatorGraph& to, Replacement replacement) {
  const std::size_t begin = boost::num_vertices(to), count = replacement.operators.size();
  for (const Operator& op : replacement.operators) boost::add_vertex(op, to);
  for (const auto& [before, after] : replacement.edges) boost::add_edge(begin + before, begin + after, to);
  return {moved(std::move(replacement.first), count, begin), moved(std::move(replacement.last), count, begin),
          replacement.lanes};
}

}  // namespace

OperatorGraph rewrite(const OperatorGraph& from, const Replace& replace) {
  OperatorGraph to;
  std::vector<Placed> became(boost::num_vertices(from));
  for (const auto v : boost::make_iterator_range(boost::vertices(from))) {
    Replacement replacement = replace(from, v);
    const bool left_out = replacement.operators.empty();
    became[v] = left_out ? Placed{} : add(to, std::move(replacement));
    std::vector<std::size_t> waited_for;  // each once
    for (const auto edge : boost::make_iterator_range(boost::in_edges(v, from))) {
      const Placed& before = became[boost::source(edge, from)];
      const bool own = before.lanes >= 0 && before.lanes == became[v].lanes;
      for (std::size_t i = 0; i < before.last.size(); ++i) {
        const bool known = std::ranges::find(waited_for, before.last[i]) != waited_for.end();
        if (!known) waited_for.push_back(before.last[i]);
        for (std::size_t k = 0; k < became[v].first.size(); ++k)
          if (own ? i == k : !known) boost::add_edge(before.last[i], became[v].first[k], to);
      }
    }
    if (left_out) became[v].last = std::move(waited_for);
  }
  return to;
}

StageGraph rewrite(StageGraph stage, const Replace& replace) {
  if (!stage.early.empty()) throw std::logic_error("a stage with early operators cannot be rewritten");
  for (Part& part : stage.parts) part.operators = rewrite(part.operators, replace);
  return stage;
}

OperatorGraph one_after_the_other(const OperatorGraph& first, const OperatorGraph& second) {
  OperatorGraph both;
  for (const OperatorGraph* part : {&first, &second}) {
    const std::size_t offset = boost::num_vertices(both);
    for (const auto v : boost::make_iterator_range(boost::vertices(*part)))
      boost::add_vertex((*part)[v], both);
    for (const auto e : boost::make_iterator_range(boost::edges(*part)))
      boost::add_edge(offset + boost::source(e, *part), offset + boost::target(e, *part), both);
  }
  const std::size_t boundary = boost::num_vertices(first);
  for (std::size_t from = 0; from < boundary; ++from)
    for (std::size_t to = boundary; to < boost::num_vertices(both); ++to)
      if (boost::out_degree(from, first) == 0 && boost::in_degree(to - boundary, second) == 0)
        boost::add_edge(from, to, both);
  return both;
}

}  // namespace weir
