#include "models/nn/operator_type.h"

#include <array>
#include <stdexcept>

namespace weir {
namespace {

using Per = UnitWork::Per;

struct TypeRow {
  OperatorType type;
  const char* name;
  UnitWork unit;
};

// Work is that of the textbook formula beside it, without what the same operator does once a channel or row.
// {multiplications, additions, other}. In the order of the enumeration.
constexpr std::array<TypeRow, operator_types> rows{{
    {OperatorType::conv2d, "Conv2D", {Per::product, {1, 1, 0}}},
    {OperatorType::conv2d_backprop_filter, "Conv2DBackpropFilter", {Per::product, {1, 1, 0}}},
    {OperatorType::conv2d_backprop_input, "Conv2DBackpropInput", {Per::product, {1, 1, 0}}},
    {OperatorType::mat_mul, "MatMul", {Per::product, {1, 1, 0}}},
    {OperatorType::bias_add, "BiasAdd", {Per::written, {0, 1, 0}}},
    {OperatorType::bias_add_grad, "BiasAddGrad", {Per::first_read, {0, 1, 0}}},
    {OperatorType::relu, "Relu", {Per::written, {0, 0, 1}}},
    {OperatorType::relu_grad, "ReluGrad", {Per::written, {0, 0, 1}}},
    {OperatorType::maximum, "Maximum", {Per::written, {0, 0, 1}}},
    {OperatorType::greater_equal, "GreaterEqual", {Per::written, {0, 0, 1}}},
    {OperatorType::select, "Select", {Per::written, {0, 0, 1}}},
    {OperatorType::sigmoid, "Sigmoid", {Per::written, {0, 1, 2}}},             // 1 / (1 + exp(-x))
    {OperatorType::sigmoid_grad, "SigmoidGrad", {Per::written, {2, 1, 0}}},    // dy y (1 - y)
    {OperatorType::tanh, "Tanh", {Per::written, {0, 2, 2}}},                   // 1 - 2 / (1 + exp(2x))
    {OperatorType::tanh_grad, "TanhGrad", {Per::written, {2, 1, 0}}},          // dy (1 - y y)
    {OperatorType::softplus, "Softplus", {Per::written, {0, 1, 2}}},           // log(1 + exp(x))
    {OperatorType::softplus_grad, "SoftplusGrad", {Per::written, {0, 1, 2}}},  // dy / (1 + exp(-x))
    {OperatorType::log, "Log", {Per::written, {0, 0, 1}}},
    {OperatorType::max_pool, "MaxPool", {Per::window_written, {0, 0, 1}}},
    {OperatorType::max_pool_grad,
     "MaxPoolGrad",
     {Per::window_read, {0, 0, 1}}},  // the greatest is sought anew
    {OperatorType::avg_pool, "AvgPool", {Per::window_written, {0, 1, 0}}},
    {OperatorType::avg_pool_grad, "AvgPoolGrad", {Per::window_read, {0, 1, 0}}},
    // c = x - mean; the sums of x and c c; c a + b. Ioffe and Szegedy 2015, section 3.
    {OperatorType::fused_batch_norm, "FusedBatchNorm", {Per::first_read, {2, 4, 0}}},
    // c = x - mean; the sums of dy and c dy, the latter for scale and dx; dx = a (dy - mean of dy - c d).
    {OperatorType::fused_batch_norm_grad, "FusedBatchNormGrad", {Per::first_read, {3, 5, 0}}},
    {OperatorType::add, "Add", {Per::written, {0, 1, 0}}},
    {OperatorType::add_n, "AddN", {Per::written, {0, 1, 0}}},  // and so for every input but the first
    {OperatorType::sub, "Sub", {Per::written, {0, 1, 0}}},
    {OperatorType::mul, "Mul", {Per::written, {1, 0, 0}}},
    {OperatorType::neg, "Neg", {Per::written, {0, 0, 1}}},
    {OperatorType::real_div, "RealDiv", {Per::written, {0, 0, 1}}},
    {OperatorType::sum, "Sum", {Per::first_read, {0, 1, 0}}},
    {OperatorType::mean, "Mean", {Per::first_read, {0, 1, 0}}},
    {OperatorType::tile, "Tile", {Per::written, {0, 0, 1}}},
    {OperatorType::l2_loss, "L2Loss", {Per::first_read, {1, 1, 0}}},
    {OperatorType::sqrt, "Sqrt", {Per::written, {0, 0, 1}}},
    {OperatorType::random_uniform, "RandomUniform", {Per::written, {0, 0, 1}}},
    {OperatorType::candidate_sampler, "LogUniformCandidateSampler", {Per::written, {0, 0, 1}}},
    {OperatorType::floor, "Floor", {Per::written, {0, 0, 1}}},
    {OperatorType::reshape, "Reshape", {Per::written, {0, 0, 0}}},
    {OperatorType::concat, "ConcatV2", {Per::written, {0, 0, 1}}},
    {OperatorType::slice, "Slice", {Per::written, {0, 0, 1}}},
    {OperatorType::pad, "Pad", {Per::written, {0, 0, 1}}},
    {OperatorType::split, "Split", {Per::written, {0, 0, 1}}},
    {OperatorType::pack, "Pack", {Per::written, {0, 0, 1}}},
    {OperatorType::unpack, "Unpack", {Per::written, {0, 0, 1}}},
    {OperatorType::gather, "Gather", {Per::written, {0, 0, 1}}},
    // The greatest logit, x - greatest, exp, their sum, exp / sum, minus the label.
    {OperatorType::softmax_cross_entropy,
     "SparseSoftmaxCrossEntropyWithLogits",
     {Per::first_read, {0, 3, 3}}},
    // m += (1 - b1)(g - m), v += (1 - b2)(g g - v), w -= a m / (sqrt(v) + e). Kingma and Ba 2015.
    {OperatorType::apply_adam, "ApplyAdam", {Per::first_read, {4, 6, 2}}},
    {OperatorType::apply_momentum, "ApplyMomentum", {Per::first_read, {2, 2, 0}}},  // m = b m + g, w -= a m
    {OperatorType::apply_gradient_descent, "ApplyGradientDescent", {Per::first_read, {1, 1, 0}}},
    {OperatorType::scatter_sub, "ScatterSub", {Per::last_read, {0, 1, 0}}},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (static_cast<std::size_t>(rows[i].type) != i) return false;
  return true;
}
static_assert(in_order());

}  // namespace

std::string_view to_string(OperatorType type) {
  return rows.at(static_cast<std::size_t>(type)).name;
}

UnitWork unit_work(OperatorType type) {
  return rows.at(static_cast<std::size_t>(type)).unit;
}

bool is_matrix_product(OperatorType type) {
  return unit_work(type).per == Per::product;
}

bool is_update(OperatorType type) {
  return type >= OperatorType::apply_adam;
}

}  // namespace weir
