#include "models/nn/operations.h"

namespace weir {
namespace {

// The tensor that is written is rows x out, its last axis being `out`; every element sums so many terms.
TensorOperation::Product product_of(const TrainingOperator& op, const Tensor& written) {
  const auto elements = static_cast<double>(written.elements());
  const double out = written.shape.empty() ? 1 : static_cast<double>(written.shape.back());
  return {elements / out, op.work.multiplications / elements, out};
}

bool makes_patches(OperatorType type) {
  return type == OperatorType::conv2d_backprop_filter || type == OperatorType::conv2d_backprop_input;
}

// The window slides over the map that a convolution reads, which its input's gradient is of.
TensorOperation::Patches patches_of(const TrainingGraph& graph, const TrainingOperator& op) {
  if (!makes_patches(op.type) || op.patch_elements == 0) return {};
  const int map = op.type == OperatorType::conv2d_backprop_filter ? op.reads.front() : op.writes.front();
  const std::vector<std::int64_t>& shape = graph.tensors[static_cast<std::size_t>(map)].shape;
  return {.elements = static_cast<double>(op.patch_elements),
          .height = op.sliding.height,
          .width = op.sliding.width,
          .stride = op.sliding.stride,
          .map_width = shape[2],
          .channels = shape[3]};
}

}  // namespace

TensorOperation operation_of(const TrainingGraph& graph, std::size_t vertex) {
  const TrainingOperator& op = graph.operators[vertex];
  TensorOperation operation{.work = op.work,
                            .read = op.bytes_read,
                            .written = op.bytes_written,
                            .window = op.window,
                            .patches = patches_of(graph, op)};
  if (is_matrix_product(op.type))
    operation.product = product_of(op, graph.tensors[static_cast<std::size_t>(op.writes.front())]);
  return operation;
}

}  // namespace weir
