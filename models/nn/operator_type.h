#pragma once
// The operators of a training step, by TensorFlow's names (version 1, which the papers of its time profile):
// https://github.com/tensorflow/tensorflow/tree/r1.4/tensorflow/core/ops and, for gradients,
// tensorflow/python/ops/*_grad.py.
#include <string_view>

#include "models/nn/tensor_operation.h"

namespace weir {

enum class OperatorType {
  conv2d,
  conv2d_backprop_filter,
  conv2d_backprop_input,  // the forward pass of a transposed convolution too
  mat_mul,
  bias_add,
  bias_add_grad,
  relu,
  relu_grad,
  maximum,
  greater_equal,
  select,
  sigmoid,
  sigmoid_grad,
  tanh,
  tanh_grad,
  softplus,
  softplus_grad,
  log,
  max_pool,
  max_pool_grad,
  avg_pool,
  avg_pool_grad,
  fused_batch_norm,
  fused_batch_norm_grad,
  add,
  add_n,
  sub,
  mul,
  neg,
  real_div,
  sum,
  mean,
  tile,
  l2_loss,
  sqrt,
  random_uniform,
  candidate_sampler,
  floor,
  reshape,
  concat,
  slice,
  pad,
  split,
  pack,
  unpack,
  gather,
  softmax_cross_entropy,
  apply_adam,
  apply_momentum,
  apply_gradient_descent,
  scatter_sub,
};
inline constexpr int operator_types = static_cast<int>(OperatorType::scatter_sub) + 1;

std::string_view to_string(OperatorType type);  // "Conv2DBackpropFilter"

// An operator does this work, so often.
struct UnitWork {
  enum class Per {
    product,         // one term of the sums of products
    written,         // an element that it writes
    first_read,      // an element of its first input
    last_read,       // an element of its last input
    window_written,  // an element of the window, for each element that it writes
    window_read,     // the same, for each of its first input
  };
  Per per = Per::written;
  Arithmetic work;
};
UnitWork unit_work(OperatorType type);

// Sums of products: convolutions, their gradients, and matrix products.
bool is_matrix_product(OperatorType type);
// Updates a variable in place.
bool is_update(OperatorType type);

}  // namespace weir
