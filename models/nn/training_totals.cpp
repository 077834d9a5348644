// Sums and lifetimes of a training graph.
#include <algorithm>

#include "models/nn/operations.h"

namespace weir {
namespace {

template <class Action>
void for_each(const TrainingGraph& graph, const Action& action) {
  for (std::size_t v = 0; v < boost::num_vertices(graph.operators); ++v) action(graph.operators[v]);
}

// The tensor that a reshaped one is another view of.
std::vector<std::size_t> roots_of(const TrainingGraph& graph) {
  std::vector<std::size_t> roots(graph.tensors.size());
  for (std::size_t t = 0; t < roots.size(); ++t) roots[t] = t;
  for_each(graph, [&](const TrainingOperator& op) {
    if (op.type == OperatorType::reshape)
      roots[static_cast<std::size_t>(op.writes.front())] = roots[static_cast<std::size_t>(op.reads.front())];
  });
  return roots;
}

}  // namespace

std::map<OperatorType, int> count_by_type(const TrainingGraph& graph) {
  std::map<OperatorType, int> counts;
  for_each(graph, [&](const TrainingOperator& op) { ++counts[op.type]; });
  return counts;
}

Arithmetic arithmetic_of(const TrainingGraph& graph) {
  Arithmetic sum;
  for_each(graph, [&](const TrainingOperator& op) { sum += op.work; });
  return sum;
}

Flops matrix_flops(const TrainingGraph& graph) {
  Flops sum;
  for_each(graph, [&](const TrainingOperator& op) {
    if (is_matrix_product(op.type)) sum += Flops(op.work.total());
  });
  return sum;
}

double patch_elements_of_gradients(const TrainingGraph& graph) {
  double sum = 0;
  for (std::size_t v = 0; v < boost::num_vertices(graph.operators); ++v)
    sum += operation_of(graph, v).patches.elements;
  return sum;
}

Bytes bytes_moved(const TrainingGraph& graph) {
  Bytes sum;
  for_each(graph, [&](const TrainingOperator& op) { sum += op.bytes_read + op.bytes_written; });
  return sum;
}

std::int64_t trained_parameters(const TrainingGraph& graph) {
  std::int64_t sum = 0;
  for_each(graph, [&](const TrainingOperator& op) {
    for (const int written : op.writes) {
      const Tensor& tensor = graph.tensors[static_cast<std::size_t>(written)];
      if (tensor.kind == TensorKind::variable) sum += tensor.elements();
    }
  });
  return sum;
}

std::vector<TensorLifetime> lifetimes(const TrainingGraph& graph) {
  std::vector<TensorLifetime> all(graph.tensors.size());
  for (std::size_t v = 0; v < boost::num_vertices(graph.operators); ++v) {
    const TrainingOperator& op = graph.operators[v];
    for (const int read : op.reads) all[static_cast<std::size_t>(read)].last_read = static_cast<int>(v);
    for (const int written : op.writes) {
      const Tensor& tensor = graph.tensors[static_cast<std::size_t>(written)];
      if (tensor.kind == TensorKind::activation || tensor.kind == TensorKind::gradient)
        all[static_cast<std::size_t>(written)].written = static_cast<int>(v);
    }
  }
  return all;
}

Bytes peak_bytes(const TrainingGraph& graph) {
  const std::vector<std::size_t> roots = roots_of(graph);
  std::vector<TensorLifetime> lives = lifetimes(graph);
  for (std::size_t t = 0; t < roots.size(); ++t)
    lives[roots[t]].last_read = std::max(lives[roots[t]].last_read, lives[t].last_read);
  const std::size_t vertices = boost::num_vertices(graph.operators);
  std::vector<Bytes> begins(vertices + 1), ends(vertices + 1);
  Bytes held;
  for (std::size_t t = 0; t < roots.size(); ++t) {
    if (roots[t] != t) continue;
    if (lives[t].written < 0) {
      held += graph.tensors[t].bytes();
    } else {
      begins[static_cast<std::size_t>(lives[t].written)] += graph.tensors[t].bytes();
      ends[static_cast<std::size_t>(std::max(lives[t].written, lives[t].last_read))] +=
          graph.tensors[t].bytes();
    }
  }
  Bytes most = held;
  for (std::size_t v = 0; v < vertices; ++v) {
    held += begins[v];
    most = std::max(most, held);
    held -= ends[v];
  }
  return most;
}

}  // namespace weir
