// Layers of feed-forward nets.
#include <fmt/format.h>

#include <stdexcept>

#include "models/nn/tape/forward.h"

namespace weir {
namespace {

using Type = OperatorType;

struct FeatureMap {
  std::int64_t batch, height, width, channels;
};

FeatureMap map_of(const TensorShape& shape) {
  if (shape.size() != 4)
    throw std::invalid_argument(
        fmt::format("its input is {}, and has to be batch x height x width x channels", to_string(shape)));
  return {shape[0], shape[1], shape[2], shape[3]};
}

// The shape of what a window makes of a map.
TensorShape slid(const FeatureMap& map, const SlidingWindow& window, std::int64_t channels) {
  return {map.batch, output_extent(map.height, window.height, window.stride, window.padding),
          output_extent(map.width, window.width, window.stride, window.padding), channels};
}

// A convolution from maps of `channels` to so many positions (over the batch) of `filters`, whichever way
// data goes through it: the multiply-adds of all three of its operators are these.
double products_of(std::int64_t positions, const TensorShape& filter) {
  return static_cast<double>(positions) * static_cast<double>(elements_of(filter));
}

std::int64_t patch_elements_of(std::int64_t positions, const SlidingWindow& window, std::int64_t channels) {
  if (window.elements() == 1) return 0;
  const double side = static_cast<double>(window.elements()) * static_cast<double>(channels);
  if (static_cast<double>(positions) * side > most_elements)
    throw std::invalid_argument(fmt::format("{} patches of {} x {} x {} are too large", positions,
                                            window.height, window.width, channels));
  return positions * window.elements() * channels;
}

}  // namespace

int ForwardPass::operation(const Convolution& layer) {
  const FeatureMap map = map_of(shape(input()));
  const SlidingWindow& window = layer.window;
  const TensorShape output = slid(map, window, layer.filters);
  const TensorShape filter = {window.height, window.width, map.channels, layer.filters};
  const int weights = variable("weights", filter);
  const std::int64_t positions = output[0] * output[1] * output[2];
  return tape_.append_one({.type = Type::conv2d,
                           .reads = {input(), weights},
                           .outputs = {output},
                           .window = window,
                           .products = products_of(positions, filter),
                           .patch_elements = patch_elements_of(positions, window, map.channels)});
}

// The gradient, with regard to its input, of the convolution from its output to its input.
int ForwardPass::operation(const TransposedConvolution& layer) {
  const FeatureMap map = map_of(shape(input()));
  const SlidingWindow& window = layer.window;
  if (window.padding != Padding::same)
    throw std::invalid_argument("a transposed convolution has to be padded");
  const TensorShape output = {map.batch, map.height * window.stride, map.width * window.stride,
                              layer.filters};
  const TensorShape filter = {window.height, window.width, layer.filters, map.channels};
  const int weights = variable("weights", filter);
  const std::int64_t positions = map.batch * map.height * map.width;
  slid(map, window, layer.filters);  // its numbers are positive
  return tape_.append_one({.type = Type::conv2d_backprop_input,
                           .reads = {input(), weights},
                           .outputs = {output},
                           .window = window,
                           .products = products_of(positions, filter),
                           .patch_elements = patch_elements_of(positions, window, layer.filters)});
}

int ForwardPass::operation(const Dense& layer) {
  const TensorShape whole = shape(input());
  const std::int64_t in = whole.back(), rows = elements_of(whole) / in;
  TensorShape output = whole;
  output.back() = layer.units;
  const int matrix = variable("weights", {in, layer.units});
  const int flat = whole.size() == 2 ? input() : tape_.append(Type::reshape, {input()}, {rows, in});
  const int y = tape_.append_one({.type = Type::mat_mul,
                                  .reads = {flat, matrix},
                                  .outputs = {{rows, layer.units}},
                                  .products = products_of(rows, shape(matrix))});
  return whole.size() == 2 ? y : tape_.append(Type::reshape, {y}, output);
}

int ForwardPass::operation(const Pooling& layer) {
  const FeatureMap map = map_of(shape(input()));
  const bool max = layer.reduction == Pooling::Reduction::max;
  return tape_.append_one({.type = max ? Type::max_pool : Type::avg_pool,
                           .reads = {input()},
                           .outputs = {slid(map, layer.window, map.channels)},
                           .window = layer.window});
}

int ForwardPass::operation(const Activate&) {
  return input();
}

int ForwardPass::operation(const Flatten&) {
  const std::int64_t batch = shape(input()).front();
  return tape_.append(Type::reshape, {input()}, {batch, tape_.elements(input()) / batch});
}

int ForwardPass::operation(const Unflatten& layer) {
  const TensorShape from = shape(input());
  const std::int64_t positions = layer.height * layer.width;
  if (from.size() != 2 || layer.height <= 0 || layer.width <= 0 || from[1] % positions != 0)
    throw std::invalid_argument(
        fmt::format("cannot make maps of {} x {} of {}", layer.height, layer.width, to_string(from)));
  return tape_.append(Type::reshape, {input()}, {from[0], layer.height, layer.width, from[1] / positions});
}

int ForwardPass::operation(const Concatenation&) {
  TensorShape joined = shape(input());
  joined.back() = 0;
  for (const int each : inputs_) {
    TensorShape expected = shape(each);
    joined.back() += expected.back();
    expected.back() = shape(input()).back();
    if (expected != shape(input()))
      throw std::invalid_argument(fmt::format("{} and {} differ beside their channels",
                                              to_string(shape(input())), to_string(shape(each))));
  }
  return tape_.append(Type::concat, inputs_, joined);
}

int ForwardPass::operation(const Addition&) {
  if (inputs_.size() < 2) throw std::invalid_argument("it adds less than two layers");
  for (const int each : inputs_)
    if (shape(each) != shape(input()))
      throw std::invalid_argument(
          fmt::format("it cannot add {} and {}", to_string(shape(input())), to_string(shape(each))));
  return like(inputs_.size() == 2 ? Type::add : Type::add_n, inputs_);
}

// As conv_cond_concat of the usual DCGAN does it: times a map of ones.
int ForwardPass::operation(const Broadcast& layer) {
  const TensorShape from = shape(input());
  if (from.size() != 2 || layer.height <= 0 || layer.width <= 0)
    throw std::invalid_argument(
        fmt::format("cannot make maps of {} x {} of {}", layer.height, layer.width, to_string(from)));
  const TensorShape map = {from[0], layer.height, layer.width, from[1]};
  const int ones = constant("ones", map);
  return tape_.append(Type::mul, {input(), ones}, map);
}

}  // namespace weir
