// Gradients have the shapes that the operators of the forward pass ask for.
#include "models/nn/training_graph.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "test/models/nn/each_graph.h"

namespace weir {
namespace {

using Type = OperatorType;

}  // namespace

TEST_CASE("training graph: a matrix product has the gradients that its inputs need, of their shapes") {
  for_each_graph([](const Net& net, const TrainingGraph& graph) {
    // Tensors that a trained variable has a part in, found anew from the operators.
    std::vector<bool> needs(graph.tensors.size());
    std::set<std::string> frozen;
    for (const Layer& layer : net.layers)
      if (!layer.trainable) frozen.insert(layer.name);
    for (std::size_t t = 0; t < needs.size(); ++t) {
      needs[t] = graph.tensors[t].kind == TensorKind::variable && !frozen.contains(graph.tensors[t].layer);
    }
    std::map<std::pair<int, std::vector<std::int64_t>>, int> wanted, found;  // what is read, what is yielded
    for_each_operator(graph, [&](std::size_t, const TrainingOperator& op) {
      if (op.phase == TrainingPhase::forward)
        for (const int read : op.reads)
          for (const int written : op.writes) needs[at(written)] = needs[at(written)] || needs[at(read)];
      if (!is_matrix_product(op.type)) return;
      const int first = op.reads[0], second = op.reads[1];
      if (op.phase == TrainingPhase::forward) {
        if (needs[at(second)]) ++wanted[{first, graph.tensors[at(second)].shape}];
        if (needs[at(first)]) ++wanted[{second, graph.tensors[at(first)].shape}];
      } else {
        const bool reads_forward = graph.tensors[at(first)].kind != TensorKind::gradient;
        ++found[{reads_forward ? first : second, graph.tensors[at(op.writes[0])].shape}];
      }
    });
    CHECK((wanted == found));
  });
}

TEST_CASE("training graph: each rule reads and yields the shapes that TensorFlow's does") {
  for_each_graph([](const Net&, const TrainingGraph& graph) {
    const auto shape = [&](int tensor) { return graph.tensors[at(tensor)].shape; };
    for_each_operator(graph, [&](std::size_t v, const TrainingOperator& op) {
      INFO(described(graph, v));
      const auto& x = op.reads;
      const auto& y = op.writes;
      switch (op.type) {
        case Type::relu_grad:
        case Type::sigmoid_grad:
        case Type::tanh_grad:
        case Type::softplus_grad:
          CHECK((shape(x[0]) == shape(x[1]) && shape(x[0]) == shape(y[0])));
          break;
        case Type::bias_add_grad:
          CHECK(shape(y[0]) == std::vector{shape(x[0]).back()});
          break;
        case Type::max_pool_grad:
          CHECK((shape(x[0]) == shape(x[2]) && shape(x[1]) == shape(y[0])));
          break;
        case Type::fused_batch_norm_grad:
          CHECK((shape(x[0]) == shape(x[1]) && shape(x[1]) == shape(y[0]) && shape(x[2]) == shape(y[1])));
          break;
        case Type::add_n:
          for (const int each : x) CHECK(shape(each) == shape(y[0]));
          break;
        case Type::reshape:
          CHECK(graph.tensors[at(x[0])].elements() == graph.tensors[at(y[0])].elements());
          break;
        default:
          break;
      }
    });
  });
}

TEST_CASE("training graph: a transposed convolution is the input gradient of one, and its gradient is one") {
  Net net{.name = "transposed",
          .inputs = {{"z", {4, 4, 6}}},
          .layers = {{.name = "first", .operation = Dense{6}},
                     {.name = "up", .operation = TransposedConvolution{3, {5, 5, 2, Padding::same}}},
                     {.name = "loss", .operation = SigmoidLoss{}}}};
  const TrainingGraph graph = build_training_graph(net, 2);
  const auto counts = count_by_type(graph);
  CHECK(counts.at(Type::conv2d) == 1);
  CHECK(counts.at(Type::conv2d_backprop_input) == 1);
  CHECK(counts.at(Type::conv2d_backprop_filter) == 1);
  CHECK(tensor_named(graph, "up/Conv2DBackpropInput").shape == std::vector<std::int64_t>{2, 8, 8, 3});
  CHECK(tensor_named(graph, "up/weights").shape == std::vector<std::int64_t>{5, 5, 3, 6});
  const double up = 2. * 4 * 4 * 25 * 3 * 6, dense = 2. * 16 * 6 * 6;
  CHECK(matrix_flops(graph).value() == 2 * (3 * up + 2 * dense));
}

TEST_CASE("training graph: an unrolled LSTM has a product a step and cell, and two gradients of each") {
  std::mt19937 random(3);
  const auto up_to = [&](std::int64_t n) {
    return std::uniform_int_distribution<std::int64_t>(1, n)(random);
  };
  for (int i = 0; i < 30; ++i) {
    const std::int64_t steps = up_to(6), units = up_to(9), layers = up_to(3), width = up_to(9),
                       batch = up_to(4);
    const Net net{.name = "words",
                  .clip_by_norm = i % 2 == 0,
                  .inputs = {{"ids", {steps}}},
                  .layers = {{.name = "table", .operation = Embedding{50, width}, .dropout = i % 3 * 0.25},
                             {.name = "lstm", .operation = Lstm{units, layers, i % 3 * 0.25}},
                             {.name = "words", .operation = Dense{50}, .bias = true},
                             {.name = "loss", .operation = SoftmaxLoss{}}}};
    const TrainingGraph graph = build_training_graph(net, batch);
    const auto cells = static_cast<double>((width + units + (layers - 1) * 2 * units) * 4 * units);
    const double forward = static_cast<double>(batch * steps) * (cells + static_cast<double>(units) * 50);
    CHECK(matrix_flops(graph).value() == Approx(3 * 2 * forward).epsilon(1e-12));
    const auto counts = count_by_type(graph);
    CHECK(counts.at(Type::mat_mul) == 3 * (steps * layers + 1));
    CHECK(counts.at(Type::scatter_sub) == 1);
    CHECK(counts.at(Type::apply_gradient_descent) == 2 * (layers + 1));
    // The table's update moves bytes by the words, not by the table.
    CHECK(trained_parameters(graph) == 50 * width + (width + units + 1) * 4 * units +
                                           (layers - 1) * (2 * units + 1) * 4 * units + 50 * (units + 1));
  }
}

}  // namespace weir
