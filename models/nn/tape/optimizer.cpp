#include "models/nn/tape/optimizer.h"

#include <stdexcept>

namespace weir {
namespace {

using Type = OperatorType;

void enter_update(Tape& tape, int variable) {
  const Tensor& owned = tape.tensors[static_cast<std::size_t>(variable)];
  tape.enter(TrainingPhase::update, owned.layer, "train/" + owned.name);
}

// The scale is the clip over the norm, the norm the root of the sum of all squares.
void clip(Tape& tape, std::vector<VariableGradient>& gradients) {
  tape.enter(TrainingPhase::update, "", "clip");
  std::vector<int> squares;
  for (const VariableGradient& each : gradients)
    squares.push_back(tape.append(Type::l2_loss, {each.values}, {}));
  const int norm = tape.append(Type::sqrt, {tape.append(Type::add_n, squares, {})}, {});
  const int scale = tape.append(Type::real_div, {tape.scalar("clip/norm"), norm}, {});
  for (VariableGradient& each : gradients)
    each.values = tape.append(Type::mul, {each.values, scale}, TensorShape(tape.shape(each.values)));
}

// GradientDescentOptimizer._apply_sparse: the rows times the rate, subtracted where they belong.
void update_rows(Tape& tape, const VariableGradient& gradient) {
  const int delta = tape.append(Type::mul, {gradient.values, tape.scalar("train/rate")},
                                TensorShape(tape.shape(gradient.values)));
  const auto bytes = [&](int tensor) { return tape.tensors[static_cast<std::size_t>(tensor)].bytes(); };
  tape.append({.type = Type::scatter_sub,
               .reads = {gradient.variable, gradient.ids, delta},
               .updates = {gradient.variable},
               .read = 2. * bytes(delta) + bytes(gradient.ids),
               .written = bytes(delta)});
}

void update_whole(Tape& tape, const VariableGradient& gradient, Optimizer optimizer) {
  const int variable = gradient.variable;
  const std::string name = tape.tensors[static_cast<std::size_t>(variable)].name;
  const TensorShape shape = tape.shape(variable);
  std::vector<int> state = {variable};
  Type type = Type::apply_gradient_descent;
  if (optimizer == Optimizer::adam) {
    type = Type::apply_adam;
    for (const char* moment : {"/m", "/v"}) state.push_back(tape.slot(name + moment, shape));
  } else if (optimizer == Optimizer::momentum) {
    type = Type::apply_momentum;
    state.push_back(tape.slot(name + "/momentum", shape));
  }
  std::vector<int> reads = state;
  reads.push_back(gradient.values);
  tape.append({.type = type, .reads = reads, .updates = state});
}

}  // namespace

void append_updates(Tape& tape, const std::vector<VariableGradient>& gradients, Optimizer optimizer,
                    bool clip_by_norm) {
  std::vector<VariableGradient> scaled = gradients;
  if (clip_by_norm) clip(tape, scaled);
  for (const VariableGradient& gradient : scaled) {
    const bool rows = gradient.ids >= 0;
    if (rows && optimizer != Optimizer::gradient_descent)
      throw std::invalid_argument("rows of a table are updated by gradient descent alone");
    enter_update(tape, gradient.variable);
    if (rows)
      update_rows(tape, gradient);
    else
      update_whole(tape, gradient, optimizer);
  }
}

}  // namespace weir
