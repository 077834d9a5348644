// Maps and windows whose sides are all unlike, and the work of operators by type, by hand.
#include <catch2/catch.hpp>
#include <map>

#include "models/nn/operations.h"
#include "test/models/nn/each_graph.h"

namespace weir::test::unlike_sides {
namespace {

using Patches = TensorOperation::Patches;
using Product = TensorOperation::Product;

std::map<std::string, TensorOperation> operations_of(const Net& net, std::int64_t batch) {
  const TrainingGraph graph = build_training_graph(net, batch);
  std::map<std::string, TensorOperation> all;
  for (std::size_t v = 0; v < boost::num_vertices(graph.operators); ++v)
    all[graph.operators[v].name] = operation_of(graph, v);
  return all;
}

void check_work(const Net& net, std::int64_t batch, const std::map<std::string, Arithmetic>& expected) {
  const auto all = operations_of(net, batch);
  for (const auto& [name, work] : expected) {
    INFO(name);
    REQUIRE(all.contains(name));
    CHECK(all.at(name).work.multiplications == work.multiplications);
    CHECK(all.at(name).work.additions == work.additions);
    CHECK(all.at(name).work.other == work.other);
  }
}

}  // namespace

// Four maps of 9 x 14 x 2. Windows of 3 x 5, two apart and padded, make 5 x 7 x 3 of each; then 5 x 3 without
// padding 1 x 5 x 6; a pool of 1 x 2 three apart makes 1 x 2 x 6.
TEST_CASE("training graph by hand: convolutions over maps and windows that are not square") {
  const Net net{.name = "sides",
                .inputs = {{"x", {9, 14, 2}}},
                .layers = {{.name = "a", .operation = Convolution{3, {3, 5, 2, Padding::same}}},
                           {.name = "b", .operation = Convolution{6, {5, 3, 1, Padding::valid}}},
                           {.name = "pool",
                            .operation = Pooling{Pooling::Reduction::average, {1, 2, 3, Padding::same}}},
                           {.name = "flat", .operation = Flatten{}},
                           {.name = "loss", .operation = SoftmaxLoss{}}}};
  const auto all = operations_of(net, 4);
  const TensorOperation &a = all.at("a/Conv2D"), &b = all.at("b/Conv2D");
  CHECK(a.work.multiplications == 140. * 15 * 2 * 3);
  CHECK((a.product == Product{140, 30, 3} && a.window == 15 && a.patches == Patches{}));
  CHECK(a.read == Bytes(4. * (4 * 9 * 14 * 2 + 15 * 2 * 3)));
  CHECK(a.written == Bytes(4. * 140 * 3));
  CHECK(b.product == Product{20, 45, 6});
  CHECK(all.at("pool/AvgPool").work.additions == 2 * 4. * 2 * 6);
  CHECK(all.at("gradients/pool/AvgPoolGrad").work.additions == 2 * 4. * 2 * 6);
  const TensorOperation &da = all.at("gradients/a/Conv2DBackpropFilter"),
                        &db = all.at("gradients/b/Conv2DBackpropFilter"),
                        &dx = all.at("gradients/b/Conv2DBackpropInput");
  CHECK(da.patches == Patches{140 * 30, 3, 5, 2, 14, 2});
  CHECK(da.product == Product{30, 140, 3});
  CHECK(db.patches == Patches{20 * 45, 5, 3, 1, 7, 3});
  CHECK(db.product == Product{45, 20, 6});
  CHECK(dx.patches == Patches{20 * 45, 5, 3, 1, 7, 3});
  CHECK((dx.product.rows == 140 && dx.product.out == 3));
  CHECK(dx.product.in == Approx(20. * 45 * 6 / (140 * 3)));
}

// Four maps of 4 x 7 x 6 become 8 x 14 x 3 by windows of 5 x 3, two apart.
TEST_CASE("training graph by hand: a transposed convolution slides over the map that it makes") {
  const Net net{.name = "transposed",
                .inputs = {{"x", {4, 7, 6}}},
                .layers = {{.name = "t", .operation = TransposedConvolution{3, {5, 3, 2, Padding::same}}},
                           {.name = "loss", .operation = SigmoidLoss{}}}};
  const auto all = operations_of(net, 4);
  const TensorOperation& t = all.at("t/Conv2DBackpropInput");
  CHECK(t.work.multiplications == 112. * 15 * 3 * 6);
  CHECK(t.patches == Patches{112 * 15 * 3, 5, 3, 2, 14, 3});
  CHECK((t.product.rows == 4 * 8 * 14 && t.product.out == 3));
  CHECK(t.written == Bytes(4. * 4 * 8 * 14 * 3));
  // The map that its filter's gradient slides over is the gradient of what it made.
  CHECK(all.at("gradients/t/Conv2DBackpropFilter").patches == Patches{112 * 15 * 3, 5, 3, 2, 14, 3});
}

TEST_CASE("training graph by hand: the work of activations, losses, dropout and momentum") {
  const Net net{
      .name = "activations",
      .optimizer = Optimizer::momentum,
      .inputs = {{"x", {4}}},
      .layers = {{.name = "a", .operation = Dense{5}, .activation = Activation::leaky_relu},
                 {.name = "b", .operation = Dense{6}, .activation = Activation::tanh, .dropout = 0.5},
                 {.name = "c", .operation = Dense{7}, .activation = Activation::sigmoid},
                 {.name = "loss", .operation = SigmoidLoss{}}}};
  // A batch of 3: 15, 18 and 21 elements.
  check_work(net, 3,
             {{"a/MatMul", {60, 60, 0}},
              {"a/Mul", {15, 0, 0}},
              {"a/Maximum", {0, 0, 15}},
              {"b/Tanh", {0, 36, 36}},
              {"b/RandomUniform", {0, 0, 18}},
              {"b/Add", {0, 18, 0}},
              {"b/Floor", {0, 0, 18}},
              {"b/RealDiv", {0, 0, 18}},
              {"b/Mul", {18, 0, 0}},
              {"c/Sigmoid", {0, 21, 42}},
              {"loss/Softplus", {0, 21, 42}},
              {"loss/Mul", {21, 0, 0}},
              {"loss/Sub", {0, 21, 0}},
              {"loss/Mean", {0, 21, 0}},
              {"gradients/loss/Tile", {0, 0, 21}},
              {"gradients/loss/RealDiv", {0, 0, 21}},
              {"gradients/loss/Neg", {0, 0, 21}},
              {"gradients/loss/SoftplusGrad", {0, 21, 42}},
              {"gradients/c/SigmoidGrad", {42, 21, 0}},
              {"gradients/b/TanhGrad", {36, 18, 0}},
              {"gradients/a/GreaterEqual", {0, 0, 15}},
              {"gradients/a/Select", {0, 0, 15}},
              {"train/a/weights/ApplyMomentum", {2 * 20, 2 * 20, 0}}});
}

// Three times two of 9 rows of 3; 6 inputs, 5 classes.
TEST_CASE("training graph by hand: the work of a table's rows, and of gradients scaled by their norm") {
  const Net net{.name = "table",
                .clip_by_norm = true,
                .inputs = {{"ids", {2}}},
                .layers = {{.name = "table", .operation = Embedding{9, 3}},
                           {.name = "flat", .operation = Flatten{}},
                           {.name = "fc", .operation = Dense{5}, .activation = Activation::relu},
                           {.name = "loss", .operation = SoftmaxLoss{}}}};
  check_work(net, 3,
             {{"table/Gather", {0, 0, 18}},
              {"flat/Reshape", {0, 0, 0}},
              {"fc/Relu", {0, 0, 15}},
              {"gradients/fc/ReluGrad", {0, 0, 15}},
              {"clip/L2Loss", {18, 18, 0}},
              {"clip/L2Loss_1", {30, 30, 0}},
              {"clip/AddN", {0, 1, 0}},
              {"clip/Sqrt", {0, 0, 1}},
              {"clip/Mul", {18, 0, 0}},
              {"train/table/embeddings/Mul", {18, 0, 0}},
              {"train/table/embeddings/ScatterSub", {0, 18, 0}},
              {"train/fc/weights/ApplyGradientDescent", {30, 30, 0}}});
}

}  // namespace weir::test::unlike_sides
