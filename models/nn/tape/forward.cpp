#include "models/nn/tape/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace weir {
namespace {

using Type = OperatorType;

bool may_read_several(const LayerOperation& operation) {
  return std::holds_alternative<Concatenation>(operation) || std::holds_alternative<Addition>(operation);
}

}  // namespace

ForwardPass::ForwardPass(Tape& tape, const Net& net, std::int64_t batch) : tape_(tape), net_(net) {
  for (const NetInput& input : net.inputs) {
    TensorShape shape = {batch};
    shape.insert(shape.end(), input.shape.begin(), input.shape.end());
    if (std::ranges::any_of(shape, [](std::int64_t extent) { return extent <= 0; }))
      throw std::invalid_argument(
          fmt::format("input {} of {}: sizes have to be positive", input.name, to_string(shape)));
    outputs_[input.name] = tape.fed(input.name, std::move(shape));
  }
  for (const Layer& layer : net.layers) {
    try {
      append(layer);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("layer {}: {}", layer.name, error.what()));
    }
  }
}

void ForwardPass::append(const Layer& layer) {
  if (layer.name.empty()) throw std::invalid_argument("it has no name");
  if (outputs_.contains(layer.name)) throw std::invalid_argument("its name is taken");
  layer_ = &layer;
  inputs_ = inputs_of(layer);
  tape_.enter(TrainingPhase::forward, layer.name, layer.name);
  int at = std::visit([this](const auto& operation) { return this->operation(operation); }, layer.operation);
  if (layer.bias) at = bias(at);
  if (layer.batch_norm) at = batch_norm(at);
  at = activation(at);
  if (layer.dropout != 0) at = dropout(at, layer.dropout);
  outputs_[layer.name] = at;
}

std::vector<int> ForwardPass::inputs_of(const Layer& layer) const {
  std::vector<std::string> names = layer.from;
  if (names.empty()) {
    const bool first = &layer == &net_.layers.front();
    if (first && net_.inputs.empty()) throw std::invalid_argument("there is no input");
    names = {first ? net_.inputs.front().name : (&layer - 1)->name};
  }
  if (names.size() > 1 && !may_read_several(layer.operation))
    throw std::invalid_argument(fmt::format("it reads {} layers, and can read one", names.size()));
  std::vector<int> tensors;
  for (const std::string& name : names) {
    const auto found = outputs_.find(name);
    if (found == outputs_.end())
      throw std::invalid_argument(fmt::format("no input and no layer before it is called {}", name));
    tensors.push_back(found->second);
  }
  return tensors;
}

int ForwardPass::variable(const std::string& role, TensorShape shape) {
  if (std::ranges::any_of(shape, [](std::int64_t extent) { return extent <= 0; }))
    throw std::invalid_argument(
        fmt::format("its {} of {}: sizes have to be positive", role, to_string(shape)));
  const std::string& owner = layer_->shares.empty() ? layer_->name : layer_->shares;
  const std::string name = owner + "/" + role;
  const auto found = variables_.find(name);
  if (found == variables_.end()) {
    if (!layer_->shares.empty())
      throw std::invalid_argument(fmt::format("it shares {} with {}, which has none", role, layer_->shares));
    return variables_[name] = tape_.variable(name, std::move(shape), layer_->trainable);
  }
  if (tape_.shape(found->second) != shape)
    throw std::invalid_argument(fmt::format("its {} of {} cannot be those of {}, {}", role, to_string(shape),
                                            owner, to_string(tape_.shape(found->second))));
  return found->second;
}

int ForwardPass::constant(const std::string& what, TensorShape shape) {
  return tape_.fed(layer_->name + "/" + what, std::move(shape));
}

int ForwardPass::like(Type type, std::vector<int> reads) {
  TensorShape same = shape(reads.front());
  return tape_.append(type, std::move(reads), std::move(same));
}

int ForwardPass::bias(int x) {
  return like(Type::bias_add, {x, variable("bias", {shape(x).back()})});
}

// TensorFlow's has a scale in any case; one that the net does not train is a constant 1.
int ForwardPass::batch_norm(int x) {
  const TensorShape channel = {shape(x).back()};
  const int scale = net_.batch_norm_scale ? variable("scale", channel) : constant("one", channel);
  const int offset = variable("offset", channel);
  return tape_.append_one({.type = Type::fused_batch_norm,
                           .reads = {x, scale, offset},
                           .outputs = {shape(x), channel, channel}});  // and mean, deviation
}

int ForwardPass::activation(int x) {
  switch (layer_->activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return like(Type::relu, {x});
    case Activation::leaky_relu:
      return like(Type::maximum, {x, like(Type::mul, {x, constant("slope", {})})});
    case Activation::sigmoid:
      return like(Type::sigmoid, {x});
    case Activation::tanh:
      return like(Type::tanh, {x});
  }
  return x;
}

// tf.nn.dropout: x / keep * floor(keep + uniform).
int ForwardPass::dropout(int x, double probability) {
  if (!(probability >= 0 && probability < 1))
    throw std::invalid_argument(fmt::format("a dropout of {} is no probability below 1", probability));
  const int random = tape_.append_one({.type = Type::random_uniform, .reads = {}, .outputs = {shape(x)}});
  const int keep = constant("keep", {});
  const int mask = like(Type::floor, {like(Type::add, {random, keep})});
  return like(Type::mul, {like(Type::real_div, {x, keep}), mask});
}

}  // namespace weir
