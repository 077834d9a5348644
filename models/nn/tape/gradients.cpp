#include "models/nn/tape/gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weir {
namespace {

using Type = OperatorType;

class BackwardPass {
 public:
  explicit BackwardPass(Tape& tape) : tape_(tape), contributions_(tape.tensors.size()) {}

  void contribute(int tensor, int gradient);
  void apply_rule(const Tape::Entry& entry);
  std::vector<VariableGradient> of_variables();

 private:
  bool needs(int tensor) const { return tape_.needs_gradient(tensor); }
  int sum_of_contributions(int tensor);
  int append(Type type, std::vector<int> reads, int shaped_like) {
    TensorShape shape = tape_.shape(shaped_like);
    return tape_.append(type, std::move(reads), std::move(shape));
  }
  int matrix(Type type, const Tape::Entry& of, std::vector<int> reads, int shaped_like);

  void matrix_rule(const Tape::Entry& entry, int dy);
  void elementwise_rule(const Tape::Entry& entry, int dy);
  void pool_rule(const Tape::Entry& entry, int dy);
  void moving_rule(const Tape::Entry& entry, const std::vector<int>& dy);
  void reducing_rule(const Tape::Entry& entry, int dy);

  Tape& tape_;
  std::vector<std::vector<int>> contributions_;  // by tensor of the forward pass
  std::vector<VariableGradient> sparse_;
};

// One that was spread over rows is summed over them.
void BackwardPass::contribute(int tensor, int gradient) {
  if (!needs(tensor)) return;
  if (tape_.elements(tensor) != tape_.elements(gradient)) gradient = append(Type::sum, {gradient}, tensor);
  contributions_[static_cast<std::size_t>(tensor)].push_back(gradient);
}

int BackwardPass::sum_of_contributions(int tensor) {
  const std::vector<int>& all = contributions_[static_cast<std::size_t>(tensor)];
  if (all.empty()) return -1;
  return all.size() == 1 ? all.front() : append(Type::add_n, all, tensor);
}

// One of a matrix product's gradients, which has as many multiply-adds.
int BackwardPass::matrix(Type type, const Tape::Entry& of, std::vector<int> reads, int shaped_like) {
  return tape_.append_one({.type = type,
                           .reads = std::move(reads),
                           .outputs = {tape_.shape(shaped_like)},
                           .window = of.window,
                           .products = of.products,
                           .patch_elements = of.op.patch_elements});
}

// Inputs before filters, as tensorflow/python/ops/nn_grad.py and math_grad.py return them: the backward pass
// goes on from the inputs' gradients.
void BackwardPass::matrix_rule(const Tape::Entry& entry, int dy) {
  const int x = entry.op.reads[0], w = entry.op.reads[1];
  switch (entry.op.type) {
    case Type::conv2d:
      if (needs(x)) contribute(x, matrix(Type::conv2d_backprop_input, entry, {w, dy}, x));
      if (needs(w)) contribute(w, matrix(Type::conv2d_backprop_filter, entry, {x, dy}, w));
      break;
    case Type::conv2d_backprop_input:  // forward: x is the gradient of a convolution's output
      if (needs(x)) contribute(x, matrix(Type::conv2d, entry, {dy, w}, x));
      if (needs(w)) contribute(w, matrix(Type::conv2d_backprop_filter, entry, {dy, x}, w));
      break;
    default:
      if (needs(x)) contribute(x, matrix(Type::mat_mul, entry, {dy, w}, x));
      if (needs(w)) contribute(w, matrix(Type::mat_mul, entry, {x, dy}, w));
  }
}

void BackwardPass::elementwise_rule(const Tape::Entry& entry, int dy) {
  const std::vector<int>& x = entry.op.reads;
  const int y = entry.op.writes.front();
  const auto product_rule = [&](int of, int other) {
    if (needs(of)) contribute(of, append(Type::mul, {dy, other}, dy));
  };
  switch (entry.op.type) {
    case Type::bias_add:
      if (needs(x[1])) contribute(x[1], append(Type::bias_add_grad, {dy}, x[1]));
      return contribute(x[0], dy);
    case Type::relu:
      return contribute(x[0], append(Type::relu_grad, {dy, y}, y));
    case Type::sigmoid:
      return contribute(x[0], append(Type::sigmoid_grad, {dy, y}, y));
    case Type::tanh:
      return contribute(x[0], append(Type::tanh_grad, {dy, y}, y));
    case Type::softplus:
      return contribute(x[0], append(Type::softplus_grad, {dy, x[0]}, y));
    case Type::real_div:
      return contribute(x[0], append(Type::real_div, {dy, x[1]}, y));
    case Type::maximum: {
      const int larger = append(Type::greater_equal, {x[0], x[1]}, y);
      for (const int each : x)
        if (needs(each)) contribute(each, append(Type::select, {larger, dy}, y));
      return;
    }
    case Type::mul:
      product_rule(x[0], x[1]);
      return product_rule(x[1], x[0]);
    case Type::sub:
      contribute(x[0], dy);
      if (needs(x[1])) contribute(x[1], append(Type::neg, {dy}, dy));
      return;
    default:  // sums
      for (const int each : x) contribute(each, dy);
  }
}

void BackwardPass::pool_rule(const Tape::Entry& entry, int dy) {
  const int x = entry.op.reads[0], y = entry.op.writes[0];
  const bool max = entry.op.type == Type::max_pool;
  contribute(x, tape_.append_one({.type = max ? Type::max_pool_grad : Type::avg_pool_grad,
                                  .reads = max ? std::vector<int>{dy, x, y} : std::vector<int>{dy},
                                  .outputs = {tape_.shape(x)},
                                  .window = entry.window}));
}

void BackwardPass::moving_rule(const Tape::Entry& entry, const std::vector<int>& dy) {
  const std::vector<int>& x = entry.op.reads;
  switch (entry.op.type) {
    case Type::reshape:
      return contribute(x[0], append(Type::reshape, {dy[0]}, x[0]));
    case Type::slice:
      return contribute(x[0], append(Type::pad, {dy[0]}, x[0]));
    case Type::split:
      return contribute(x[0], append(Type::concat, dy, x[0]));
    case Type::unpack:
      return contribute(x[0], append(Type::pack, dy, x[0]));
    case Type::concat:
      for (const int each : x)
        if (needs(each))
          contribute(each, tape_.append_one({.type = Type::slice,
                                             .reads = {dy[0]},
                                             .outputs = {tape_.shape(each)},
                                             .read = tape_.tensors[static_cast<std::size_t>(each)].bytes()}));
      return;
    case Type::pack: {
      std::vector<TensorShape> shapes;
      for (const int each : x) shapes.push_back(tape_.shape(each));
      const std::vector<int> parts = tape_.append({.type = Type::unpack, .reads = dy, .outputs = shapes});
      for (std::size_t i = 0; i < x.size(); ++i) contribute(x[i], parts[i]);
      return;
    }
    default:
      sparse_.push_back({.variable = x[1], .values = dy[0], .ids = x[0]});  // Gather
  }
}

void BackwardPass::reducing_rule(const Tape::Entry& entry, int dy) {
  const std::vector<int>&x = entry.op.reads, &y = entry.op.writes;
  switch (entry.op.type) {
    case Type::mean: {
      const int spread = append(Type::tile, {dy}, x[0]);
      return contribute(x[0], append(Type::real_div, {spread, tape_.scalar("gradients/count")}, x[0]));
    }
    case Type::softmax_cross_entropy:
      return contribute(x[0], append(Type::mul, {y[1], dy}, y[1]));
    default: {  // FusedBatchNorm
      const std::vector<int> made =
          tape_.append({.type = Type::fused_batch_norm_grad,
                        .reads = {dy, x[0], x[1], y[1], y[2]},
                        .outputs = {tape_.shape(x[0]), tape_.shape(x[1]), tape_.shape(x[2])}});
      for (std::size_t i = 0; i < made.size(); ++i) contribute(x[i], made[i]);
    }
  }
}

void BackwardPass::apply_rule(const Tape::Entry& entry) {
  const TrainingOperator& op = entry.op;
  std::vector<int> dy;
  bool any = false;
  tape_.enter(TrainingPhase::backward, op.layer, "gradients/" + op.name.substr(0, op.name.rfind('/')));
  for (const int y : op.writes) {
    dy.push_back(needs(y) ? sum_of_contributions(y) : -1);
    any = any || dy.back() >= 0;
  }
  if (!any) return;
  const bool whole = op.type == Type::split || op.type == Type::unpack;
  for (std::size_t i = 0; whole && i < dy.size(); ++i)
    if (dy[i] < 0) dy[i] = tape_.fed("gradients/zeros", tape_.shape(op.writes[i]));
  switch (op.type) {
    case Type::conv2d:
    case Type::conv2d_backprop_input:
    case Type::mat_mul:
      return matrix_rule(entry, dy[0]);
    case Type::max_pool:
    case Type::avg_pool:
      return pool_rule(entry, dy[0]);
    case Type::reshape:
    case Type::slice:
    case Type::split:
    case Type::pack:
    case Type::unpack:
    case Type::concat:
    case Type::gather:
      return moving_rule(entry, dy);
    case Type::mean:
    case Type::softmax_cross_entropy:
    case Type::fused_batch_norm:
      return reducing_rule(entry, dy[0]);
    case Type::bias_add:
    case Type::relu:
    case Type::sigmoid:
    case Type::tanh:
    case Type::softplus:
    case Type::real_div:
    case Type::maximum:
    case Type::mul:
    case Type::sub:
    case Type::add:
    case Type::add_n:
      return elementwise_rule(entry, dy[0]);
    default:
      throw std::logic_error(fmt::format("no gradient of {}", to_string(op.type)));
  }
}

std::vector<VariableGradient> BackwardPass::of_variables() {
  std::vector<VariableGradient> found = std::move(sparse_);
  for (int tensor = 0; tensor < static_cast<int>(contributions_.size()); ++tensor) {
    const Tensor& variable = tape_.tensors[static_cast<std::size_t>(tensor)];
    if (variable.kind != TensorKind::variable || !needs(tensor)) continue;
    tape_.enter(TrainingPhase::backward, variable.layer, "gradients/" + variable.name);
    if (const int sum = sum_of_contributions(tensor); sum >= 0) found.push_back({tensor, sum});
  }
  std::ranges::sort(found, {}, &VariableGradient::variable);
  return found;
}

}  // namespace

std::vector<VariableGradient> append_backward(Tape& tape, const std::vector<int>& losses) {
  BackwardPass pass(tape);
  for (const int loss : losses) pass.contribute(loss, tape.scalar("gradients/one"));
  // Rules append to the entries, so each is copied before its own runs.
  for (std::size_t i = tape.entries.size(); i-- > 0;) pass.apply_rule(Tape::Entry(tape.entries[i]));
  std::vector<VariableGradient> gradients = pass.of_variables();
  if (gradients.empty()) throw std::invalid_argument("no variable of a trainable layer leads to a loss");
  return gradients;
}

}  // namespace weir
