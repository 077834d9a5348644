#pragma once
// How policies and the engine change the operators of a stage: each is replaced by none, one or several. The
// edges between replacements follow from those between what they replace, and vertices stay numbered in a
// topological order. Prefetches alone are put in otherwise, as their operators may be early
// (policies/prefetch/insertion.h). Pure.
#include <functional>

#include "models/llm/operator_graph.h"

namespace weir {

struct Replacement {
  struct Edge {
    std::size_t from, to;
  };
  // In a topological order. None: whoever waited for it waits for what it waited for.
  std::vector<Operator> operators;
  std::vector<Edge> edges = {};  // among them
  // Indices of those that wait for what it waited for, and of those that its successors wait for. Empty: all.
  std::vector<std::size_t> first = {}, last = {};
  // Where two with the same lanes (0 or more) follow each other, each operator waits for the one of its own
  // index alone. Both have as many operators.
  int lanes = -1;

  Replacement() = default;
  Replacement(Operator op) : operators{std::move(op)} {}
};

using Replace = std::function<Replacement(const OperatorGraph& from, std::size_t vertex)>;

OperatorGraph rewrite(const OperatorGraph& from, const Replace& replace);

// The second behind the first: each of its sources waits for every sink of the first.
OperatorGraph one_after_the_other(const OperatorGraph& first, const OperatorGraph& second);

// Rewrites every part by itself; throws std::logic_error where operators are early already.
StageGraph rewrite(StageGraph stage, const Replace& replace);

}  // namespace weir
