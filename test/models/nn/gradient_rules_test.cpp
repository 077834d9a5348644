// Steps of small nets, operator by operator, as TensorFlow's rules have them (r1.4: nn_grad.py, math_grad.py,
// array_grad.py, clip_ops.py, rnn_cell_impl.py). Lists are the program's own, read through line by line
// against the rules once: they hold what was read, and are no second derivation.
#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <catch2/catch.hpp>

#include "test/models/nn/random_net.h"

namespace weir {
namespace {

using Lines = std::vector<std::string>;

// d/ is gradients/; cells of an LSTM go without its name.
Lines step_of(const Net& net) {
  Lines lines = listing(build_training_graph(net, 1));
  for (std::string& line : lines) {
    boost::replace_all(line, "gradients/", "d/");
    boost::replace_all(line, "SparseSoftmaxCrossEntropyWithLogits", "Softmax");
    boost::replace_all(line, "lstm/cell_0/", "");
  }
  return lines;
}

Lines starting(const Lines& lines, const Lines& prefixes) {
  Lines found;
  for (const std::string& line : lines)
    if (std::ranges::any_of(prefixes, [&](const std::string& prefix) { return line.starts_with(prefix); }))
      found.push_back(line);
  return found;
}

}  // namespace

TEST_CASE("gradient rules: a residual block of convolutions, its pool and its dense layer") {
  const Net net{
      .name = "residual",
      .inputs = {{"x", {4, 4, 2}}},
      .layers = {{.name = "a", .operation = Convolution{3, {3, 3}}, .bias = true},
                 {.name = "b", .operation = Convolution{3, {3, 3}}, .batch_norm = true},
                 {.name = "sum", .operation = Addition{}, .from = {"b", "a"}, .activation = Activation::relu},
                 {.name = "pool", .operation = Pooling{Pooling::Reduction::max, {2, 2, 2}}},
                 {.name = "flat", .operation = Flatten{}},
                 {.name = "fc", .operation = Dense{5}},
                 {.name = "loss", .operation = SoftmaxLoss{}}}};
  CHECK(
      step_of(net) ==
      Lines{
          "a/Conv2D(x, a/weights)",
          "a/BiasAdd(a/Conv2D, a/bias)",
          "b/Conv2D(a/BiasAdd, b/weights)",
          "b/FusedBatchNorm(b/Conv2D, b/scale, b/offset) -> b/FusedBatchNorm, b/FusedBatchNorm:1, "
          "b/FusedBatchNorm:2",
          "sum/Add(b/FusedBatchNorm, a/BiasAdd)",
          "sum/Relu(sum/Add)",
          "pool/MaxPool(sum/Relu)",
          "flat/Reshape(pool/MaxPool)",
          "fc/MatMul(flat/Reshape, fc/weights)",
          "loss/Softmax(fc/MatMul, loss/labels) -> loss/Softmax, loss/Softmax:1",
          "loss/Mean(loss/Softmax)",
          "d/loss/Tile(d/one)",
          "d/loss/RealDiv(d/loss/Tile, d/count)",
          "d/loss/Mul(loss/Softmax:1, d/loss/RealDiv)",
          "d/fc/MatMul(d/loss/Mul, fc/weights)",
          "d/fc/MatMul_1(flat/Reshape, d/loss/Mul)",
          "d/flat/Reshape(d/fc/MatMul)",
          "d/pool/MaxPoolGrad(d/flat/Reshape, sum/Relu, pool/MaxPool)",
          "d/sum/ReluGrad(d/pool/MaxPoolGrad, sum/Relu)",
          "d/b/FusedBatchNormGrad(d/sum/ReluGrad, b/Conv2D, b/scale, b/FusedBatchNorm:1, b/FusedBatchNorm:2) "
          "-> d/b/FusedBatchNormGrad, d/b/FusedBatchNormGrad:1, d/b/FusedBatchNormGrad:2",
          "d/b/Conv2DBackpropInput(b/weights, d/b/FusedBatchNormGrad)",
          "d/b/Conv2DBackpropFilter(a/BiasAdd, d/b/FusedBatchNormGrad)",
          "d/a/AddN(d/sum/ReluGrad, d/b/Conv2DBackpropInput)",
          "d/a/BiasAddGrad(d/a/AddN)",
          "d/a/Conv2DBackpropFilter(x, d/a/AddN)",
          "train/a/weights/ApplyGradientDescent(a/weights, d/a/Conv2DBackpropFilter) -> a/weights",
          "train/a/bias/ApplyGradientDescent(a/bias, d/a/BiasAddGrad) -> a/bias",
          "train/b/weights/ApplyGradientDescent(b/weights, d/b/Conv2DBackpropFilter) -> b/weights",
          "train/b/scale/ApplyGradientDescent(b/scale, d/b/FusedBatchNormGrad:1) -> b/scale",
          "train/b/offset/ApplyGradientDescent(b/offset, d/b/FusedBatchNormGrad:2) -> b/offset",
          "train/fc/weights/ApplyGradientDescent(fc/weights, d/fc/MatMul_1) -> fc/weights"});
}

TEST_CASE("gradient rules: leaky ReLU, dropout, sigmoid, what is beside, and a shared matrix under Adam") {
  const Net net{.name = "activations",
                .optimizer = Optimizer::adam,
                .inputs = {{"x", {4}}},
                .layers = {{.name = "a", .operation = Dense{4}, .activation = Activation::leaky_relu},
                           {.name = "b",
                            .operation = Dense{4},
                            .activation = Activation::sigmoid,
                            .dropout = 0.5,
                            .shares = "a"},
                           {.name = "both", .operation = Concatenation{}, .from = {"b", "x"}},
                           {.name = "loss", .operation = SigmoidLoss{}}}};
  CHECK(step_of(net) == Lines{"a/MatMul(x, a/weights)",
                              "a/Mul(a/MatMul, a/slope)",
                              "a/Maximum(a/MatMul, a/Mul)",
                              "b/MatMul(a/Maximum, a/weights)",
                              "b/Sigmoid(b/MatMul)",
                              "b/RandomUniform()",
                              "b/Add(b/RandomUniform, b/keep)",
                              "b/Floor(b/Add)",
                              "b/RealDiv(b/Sigmoid, b/keep)",
                              "b/Mul(b/RealDiv, b/Floor)",
                              "both/ConcatV2(b/Mul, x)",
                              "loss/Softplus(both/ConcatV2)",
                              "loss/Mul(both/ConcatV2, loss/labels)",
                              "loss/Sub(loss/Softplus, loss/Mul)",
                              "loss/Mean(loss/Sub)",
                              "d/loss/Tile(d/one)",
                              "d/loss/RealDiv(d/loss/Tile, d/count)",
                              "d/loss/Neg(d/loss/RealDiv)",
                              "d/loss/Mul(d/loss/Neg, loss/labels)",
                              "d/loss/SoftplusGrad(d/loss/RealDiv, both/ConcatV2)",
                              "d/both/AddN(d/loss/Mul, d/loss/SoftplusGrad)",
                              "d/both/Slice(d/both/AddN)",
                              "d/b/Mul(d/both/Slice, b/Floor)",
                              "d/b/RealDiv(d/b/Mul, b/keep)",
                              "d/b/SigmoidGrad(d/b/RealDiv, b/Sigmoid)",
                              "d/b/MatMul(d/b/SigmoidGrad, a/weights)",
                              "d/b/MatMul_1(a/Maximum, d/b/SigmoidGrad)",
                              "d/a/GreaterEqual(a/MatMul, a/Mul)",
                              "d/a/Select(d/a/GreaterEqual, d/b/MatMul)",
                              "d/a/Select_1(d/a/GreaterEqual, d/b/MatMul)",
                              "d/a/Mul(d/a/Select_1, a/slope)",
                              "d/a/AddN(d/a/Select, d/a/Mul)",
                              "d/a/MatMul(x, d/a/AddN)",
                              "d/a/weights/AddN(d/b/MatMul_1, d/a/MatMul)",
                              "train/a/weights/ApplyAdam(a/weights, a/weights/m, a/weights/v, "
                              "d/a/weights/AddN) -> a/weights, a/weights/m, a/weights/v"});
}

TEST_CASE("gradient rules: a cell of an LSTM, its sums over steps, and gradients scaled by their norm") {
  const Net net{.name = "cell",
                .clip_by_norm = true,
                .inputs = {{"ids", {2}}},
                .layers = {{.name = "table", .operation = Embedding{9, 3}},
                           {.name = "lstm", .operation = Lstm{2, 1, 0}},
                           {.name = "loss", .operation = SoftmaxLoss{}}}};
  const Lines step = step_of(net);
  CHECK(starting(step, {"step_1/"}) ==
        Lines{"step_1/ConcatV2(lstm/Unpack:1, step_0/Mul_2)", "step_1/MatMul(step_1/ConcatV2, weights)",
              "step_1/BiasAdd(step_1/MatMul, bias)",
              "step_1/Split(step_1/BiasAdd) -> step_1/Split, step_1/Split:1, step_1/Split:2, step_1/Split:3",
              "step_1/Add(step_1/Split:2, forget_bias)", "step_1/Sigmoid(step_1/Add)",
              "step_1/Mul(step_0/Add_1, step_1/Sigmoid)", "step_1/Sigmoid_1(step_1/Split)",
              "step_1/Tanh(step_1/Split:1)", "step_1/Mul_1(step_1/Sigmoid_1, step_1/Tanh)",
              "step_1/Add_1(step_1/Mul, step_1/Mul_1)", "step_1/Tanh_1(step_1/Add_1)",
              "step_1/Sigmoid_2(step_1/Split:3)", "step_1/Mul_2(step_1/Tanh_1, step_1/Sigmoid_2)"});
  CHECK(starting(step, {"d/step_1/"}) ==
        Lines{"d/step_1/Mul(d/lstm/Unpack:1, step_1/Sigmoid_2)",
              "d/step_1/Mul_1(d/lstm/Unpack:1, step_1/Tanh_1)",
              "d/step_1/SigmoidGrad(d/step_1/Mul_1, step_1/Sigmoid_2)",
              "d/step_1/TanhGrad(d/step_1/Mul, step_1/Tanh_1)",
              "d/step_1/Mul_2(d/step_1/TanhGrad, step_1/Tanh)",
              "d/step_1/Mul_3(d/step_1/TanhGrad, step_1/Sigmoid_1)",
              "d/step_1/TanhGrad_1(d/step_1/Mul_3, step_1/Tanh)",
              "d/step_1/SigmoidGrad_1(d/step_1/Mul_2, step_1/Sigmoid_1)",
              "d/step_1/Mul_4(d/step_1/TanhGrad, step_1/Sigmoid)",
              "d/step_1/Mul_5(d/step_1/TanhGrad, step_0/Add_1)",
              "d/step_1/SigmoidGrad_2(d/step_1/Mul_5, step_1/Sigmoid)",
              "d/step_1/ConcatV2(d/step_1/SigmoidGrad_1, d/step_1/TanhGrad_1, d/step_1/SigmoidGrad_2, "
              "d/step_1/SigmoidGrad)",
              "d/step_1/BiasAddGrad(d/step_1/ConcatV2)", "d/step_1/MatMul(d/step_1/ConcatV2, weights)",
              "d/step_1/MatMul_1(step_1/ConcatV2, d/step_1/ConcatV2)", "d/step_1/Slice(d/step_1/MatMul)",
              "d/step_1/Slice_1(d/step_1/MatMul)"});
  // Step 0 has the same with two contributions to its output and its memory; its own hidden state is fed.
  CHECK(starting(step, {"d/step_0/AddN", "d/lstm", "d/weights", "d/bias", "clip", "train"}) ==
        Lines{"d/lstm/Unpack(d/loss/Reshape) -> d/lstm/Unpack, d/lstm/Unpack:1",
              "d/step_0/AddN(d/lstm/Unpack, d/step_1/Slice_1)",
              "d/step_0/AddN_1(d/step_1/Mul_4, d/step_0/TanhGrad)",
              "d/lstm/Pack(d/step_0/Slice, d/step_1/Slice)",
              "d/weights/AddN(d/step_1/MatMul_1, d/step_0/MatMul_1)",
              "d/bias/AddN(d/step_1/BiasAddGrad, d/step_0/BiasAddGrad)", "clip/L2Loss(d/lstm/Pack)",
              "clip/L2Loss_1(d/weights/AddN)", "clip/L2Loss_2(d/bias/AddN)",
              "clip/AddN(clip/L2Loss, clip/L2Loss_1, clip/L2Loss_2)", "clip/Sqrt(clip/AddN)",
              "clip/RealDiv(clip/norm, clip/Sqrt)", "clip/Mul(d/lstm/Pack, clip/RealDiv)",
              "clip/Mul_1(d/weights/AddN, clip/RealDiv)", "clip/Mul_2(d/bias/AddN, clip/RealDiv)",
              "train/table/embeddings/Mul(clip/Mul, train/rate)",
              "train/table/embeddings/ScatterSub(table/embeddings, ids, train/table/embeddings/Mul) -> "
              "table/embeddings",
              "train/weights/ApplyGradientDescent(weights, clip/Mul_1) -> weights",
              "train/bias/ApplyGradientDescent(bias, clip/Mul_2) -> bias"});
  CHECK(starting(step, {"d/step_0/Slice"}).size() == 1);
}

}  // namespace weir
