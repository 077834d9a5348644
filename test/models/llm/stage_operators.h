#pragma once
// Operators of a stage's graph, found by name and measured, for tests.
#include <boost/range/iterator_range.hpp>
#include <catch2/catch.hpp>

#include "test/models/llm/models.h"
#include "test/models/llm/parts.h"

namespace weir::test::stage_graph {

using Names = std::vector<std::string>;

inline auto operators(const OperatorGraph& graph) {
  return boost::make_iterator_range(boost::vertices(graph));
}

inline Names names(const OperatorGraph& graph) {
  Names all;
  for (const auto v : operators(graph)) all.push_back(graph[v].name);
  return all;
}

inline Names inputs(const OperatorGraph& graph, std::size_t index) {
  Names all;
  for (const auto e : boost::make_iterator_range(boost::in_edges(index, graph)))
    all.push_back(graph[boost::source(e, graph)].name);
  return all;
}

inline const Operator& find(const OperatorGraph& graph, const std::string& name) {
  for (const auto v : operators(graph))
    if (graph[v].name == name) return graph[v];
  throw std::runtime_error("no operator " + name);
}

// The matrix of a GEMM or of each expert; null of others.
inline const Gemm* matrix_of(const Operator& op) {
  const auto* experts = op.as<GroupedGemm>();
  return experts ? &experts->each : op.as<Gemm>();
}

inline const Gemm& gemm(const OperatorGraph& graph, const std::string& name) {
  return *matrix_of(find(graph, name));
}

// That elementwise operators read and write, and collectives have as payload; none of others.
inline Bytes bytes_per_row(const Operator& op) {
  if (const auto* elementwise = op.as<Elementwise>()) return elementwise->per_row;
  const auto* collective = op.as<Communication>();
  return collective ? collective->per_row : Bytes(0);
}

// Matrices that nobody quantises.
inline bool kept_wide(const Operator& op) {
  const Names wide = {"lm_head", "moe_router", "mla_absorb", "mla_values", "dsa_k_proj", "linear_ba_proj"};
  return std::ranges::find(wide, op.name) != wide.end();
}

// Multiply-adds of a prompt's token counted twice, as a device sees them: experts at their average share.
inline double gemm_flops(const OperatorGraph& graph) {
  double flops = 0;
  for (const auto v : operators(graph)) {
    if (graph[v].rows == Rows::decodes) continue;
    const auto* experts = graph[v].as<GroupedGemm>();
    const double matrices =
        experts ? static_cast<double>(experts->active * experts->here) / static_cast<double>(experts->total)
                : 1;
    if (const Gemm* each = matrix_of(graph[v]))
      flops += 2 * matrices * static_cast<double>(each->matrices * each->in * each->out);
  }
  return flops;
}

}  // namespace weir::test::stage_graph
