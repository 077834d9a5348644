#include "test/models/nn/random_net.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

namespace weir {
namespace {

// Draws layers and counts, from the sizes that it knows itself, what they cost.
class NetDrawer {
 public:
  explicit NetDrawer(std::mt19937& random) : random_(random) {}

  RandomNet draw() {
    made_.batch = up_to(5);
    side_ = 8 + up_to(24);
    channels_ = up_to(4);
    made_.net.name = "random";
    made_.net.batch = up_to(9);
    made_.net.optimizer = static_cast<Optimizer>(up_to(3) - 1);
    made_.net.clip_by_norm = coin();
    made_.net.batch_norm_scale = coin();
    made_.net.inputs = {{"images", {side_, side_, channels_}}};
    made_.frozen = static_cast<int>(up_to(5) - 1);
    const std::int64_t blocks = made_.frozen + up_to(5);
    for (std::int64_t i = 0; i < blocks; ++i) block();
    push(Flatten{});
    channels_ *= side_ * side_;
    side_ = 1;
    if (coin()) dense(up_to(20));
    dense(up_to(20));
    push(SoftmaxLoss{});
    return made_;
  }

 private:
  std::int64_t up_to(std::int64_t n) { return std::uniform_int_distribution<std::int64_t>(1, n)(random_); }
  bool coin() { return up_to(2) == 1; }

  Layer& push(LayerOperation operation, std::vector<std::string> from = {}) {
    made_.net.layers.push_back({.name = fmt::format("layer{}", made_.net.layers.size()),
                                .operation = std::move(operation),
                                .from = std::move(from)});
    return made_.net.layers.back();
  }

  void block() {
    convolution(up_to(6), false);
    if (coin() && side_ > 3) {
      const bool max = coin();
      const SlidingWindow window{2, 3, up_to(2), Padding::same};
      push(Pooling{max ? Pooling::Reduction::max : Pooling::Reduction::average, window});
      side_ = (side_ + window.stride - 1) / window.stride;
    }
    if (coin()) branch();
  }

  // A convolution beside the layer before, and both added or side by side.
  void branch() {
    const std::string before = made_.net.layers.back().name;
    const bool sum = coin();
    const std::int64_t in = channels_;
    convolution(sum ? channels_ : up_to(6), true);
    const std::string beside = made_.net.layers.back().name;
    if (sum)
      push(Addition{}, {before, beside});
    else
      push(Concatenation{}, {before, beside});
    if (!sum) channels_ += in;
  }

  void convolution(std::int64_t filters, bool keeps_size) {
    SlidingWindow window{up_to(3), up_to(3), keeps_size ? 1 : up_to(2), Padding::same};
    if (!keeps_size && coin() && side_ > 4 && window.height == window.width) window.padding = Padding::valid;
    const std::int64_t room = window.padding == Padding::same ? side_ : side_ - window.height + 1;
    const std::int64_t out = (room + window.stride - 1) / window.stride;
    Layer& layer = push(Convolution{filters, window});
    count(layer, static_cast<double>(out * out), window.elements() * channels_, filters);
    side_ = out;
    channels_ = filters;
  }

  void dense(std::int64_t units) {
    count(push(Dense{units}), 1, channels_, units);
    channels_ = units;
  }

  void count(Layer& layer, double positions, std::int64_t in, std::int64_t out) {
    layer.bias = coin();
    layer.batch_norm = coin();
    layer.activation = static_cast<Activation>(up_to(5) - 1);
    layer.dropout = coin() ? 0.5 : 0;
    layer.trainable = made_.matrices++ >= made_.frozen;
    const double products = positions * static_cast<double>(in * out);
    made_.forward += products;
    if (layer.trainable) {
      made_.backward += products * (made_.weights.empty() ? 1 : 2);  // nothing before the first is trained
      made_.weights.push_back(layer.name + "/weights");
      made_.trained += in * out + (layer.bias ? out : 0) +
                       (layer.batch_norm ? (made_.net.batch_norm_scale ? 2 : 1) * out : 0);
    }
  }

  std::mt19937& random_;
  RandomNet made_;
  std::int64_t side_ = 1, channels_ = 1;
};

std::string shapes(const TrainingGraph& graph, const std::vector<int>& tensors) {
  std::string text;
  for (const int tensor : tensors) {
    text += "[";
    for (const std::int64_t extent : graph.tensors[static_cast<std::size_t>(tensor)].shape)
      text += fmt::format(" {}", extent);
    text += " ]";
  }
  return text;
}

}  // namespace

RandomNet random_net(std::mt19937& random) {
  return NetDrawer(random).draw();
}

std::string described(const TrainingGraph& graph, std::size_t vertex) {
  const TrainingOperator& op = graph.operators[vertex];
  return fmt::format("{}: {} -> {}", op.name, shapes(graph, op.reads), shapes(graph, op.writes));
}

std::vector<std::string> listing(const TrainingGraph& graph) {
  const auto names = [&](const std::vector<int>& tensors) {
    std::vector<std::string> all;
    for (const int tensor : tensors) all.push_back(graph.tensors[static_cast<std::size_t>(tensor)].name);
    return fmt::format("{}", fmt::join(all, ", "));
  };
  std::vector<std::string> lines;
  for (std::size_t v = 0; v < boost::num_vertices(graph.operators); ++v) {
    const TrainingOperator& op = graph.operators[v];
    const std::string written = names(op.writes);
    lines.push_back(
        fmt::format("{}({}){}", op.name, names(op.reads), written == op.name ? "" : " -> " + written));
  }
  return lines;
}

const Tensor& tensor_named(const TrainingGraph& graph, const std::string& name) {
  for (const Tensor& tensor : graph.tensors)
    if (tensor.name == name) return tensor;
  throw std::out_of_range(name);
}

}  // namespace weir
