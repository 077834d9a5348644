#include "models/nn/operations.h"

namespace weir {
namespace {

// What is written is rows x out, its last axis being `out`; every element sums so many terms.
TensorOperation::Product product_of(const TrainingOperator& op, const Tensor& written) {
  const auto elements = static_cast<double>(written.elements());
  const double out = written.shape.empty() ? 1 : static_cast<double>(written.shape.back());
  return {elements / out, op.work.multiplications / elements, out};
}

bool makes_patches(OperatorType type) {
  return type == OperatorType::conv2d_backprop_filter || type == OperatorType::conv2d_backprop_input;
}

}  // namespace

TensorOperation operation_of(const TrainingGraph& graph, std::size_t vertex) {
  const TrainingOperator& op = graph.operators[vertex];
  TensorOperation operation{
      .work = op.work,
      .read = op.bytes_read,
      .written = op.bytes_written,
      .window = op.window,
      .patch_elements = makes_patches(op.type) ? static_cast<double>(op.patch_elements) : 0,
      .product = {}};
  if (is_matrix_product(op.type))
    operation.product = product_of(op, graph.tensors[static_cast<std::size_t>(op.writes.front())]);
  return operation;
}

}  // namespace weir
