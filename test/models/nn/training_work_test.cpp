// Operators of a training step have the work and the bytes of closed forms.
#include "models/nn/training_graph.h"

#include <catch2/catch.hpp>

#include "test/models/nn/each_graph.h"

namespace weir {
namespace {

using Type = OperatorType;

}  // namespace

TEST_CASE(
    "training graph: multiply-adds, parameters and gradients of random nets are those counted by hand") {
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    const RandomNet drawn = random_net(random);
    const TrainingGraph graph = build_training_graph(drawn.net, drawn.batch);
    INFO("random net " << i);
    CHECK(matrix_flops(graph).value() ==
          Approx(2. * static_cast<double>(drawn.batch) * (drawn.forward + drawn.backward)).epsilon(1e-12));
    CHECK(trained_parameters(graph) == drawn.trained);
    std::map<Type, int> forward, backward;
    for_each_operator(graph, [&](std::size_t, const TrainingOperator& op) {
      ++(op.phase == TrainingPhase::forward ? forward : backward)[op.type];
    });
    CHECK(forward[Type::conv2d] + forward[Type::mat_mul] == drawn.matrices);
    const int trained = drawn.matrices - drawn.frozen;
    CHECK(static_cast<int>(drawn.weights.size()) == trained);
    // Both of every trained one but the first, which has its filter's alone.
    const int gradients = backward[Type::conv2d_backprop_filter] + backward[Type::conv2d_backprop_input] +
                          backward[Type::mat_mul];
    CHECK(gradients == 2 * trained - 1);
    CHECK(backward[Type::conv2d] == 0);
    for (const std::string& weights : drawn.weights) {
      const Tensor& tensor = tensor_named(graph, weights);
      CHECK(tensor.kind == TensorKind::variable);
    }
  }
}

TEST_CASE("training graph: a gradient of a convolution has its window, its patches and its multiply-adds") {
  const TrainingGraph graph = build_training_graph(catalog_net("alexnet"));
  std::map<std::string, std::vector<TrainingOperator>> by_layer;
  for_each_operator(graph, [&](std::size_t, const TrainingOperator& op) {
    if (op.type <= Type::conv2d_backprop_input) by_layer[op.layer].push_back(op);
  });
  CHECK(by_layer.size() == 5);
  for (const auto& [layer, operators] : by_layer) {
    INFO(layer);
    CHECK(operators.size() == (layer == "conv1" ? 2 : 3));
    for (const TrainingOperator& op : operators) {
      CHECK(op.window == operators.front().window);
      CHECK(op.patch_elements == operators.front().patch_elements);
      CHECK(op.work.multiplications == operators.front().work.multiplications);
      CHECK(op.work.additions == op.work.multiplications);
    }
  }
  CHECK(by_layer["conv1"].front().window == 121);
  CHECK(by_layer["conv1"].front().patch_elements == 32 * 54 * 54 * 121 * 3);
  CHECK(by_layer["conv1"].front().work.multiplications == 32. * 54 * 54 * 121 * 3 * 64);
  CHECK(by_layer["conv1"].front().bytes_read == Bytes(4. * (32 * 224 * 224 * 3 + 121 * 3 * 64)));
  CHECK(by_layer["conv1"].front().bytes_written == Bytes(4. * 32 * 54 * 54 * 64));
}

TEST_CASE("training graph: a window of one element has no patches") {
  for_each_graph([](const Net&, const TrainingGraph& graph) {
    for_each_operator(graph, [&](std::size_t v, const TrainingOperator& op) {
      INFO(described(graph, v));
      const bool convolution = op.type <= Type::conv2d_backprop_input;
      CHECK((op.patch_elements > 0) == (convolution && op.window > 1));
      if (convolution) CHECK(op.window >= 1);
    });
  });
}

TEST_CASE("training graph: the work of operators that are no matrix products is their formula's, by hand") {
  const Net net{.name = "work",
                .optimizer = Optimizer::adam,
                .inputs = {{"x", {6, 6, 2}}},
                .layers = {{.name = "a", .operation = Convolution{3, {1, 1}}, .bias = true},
                           {.name = "norm", .operation = Activate{}, .batch_norm = true},
                           {.name = "more", .operation = Addition{}, .from = {"a", "norm", "norm"}},
                           {.name = "max", .operation = Pooling{Pooling::Reduction::max, {3, 3, 2}}},
                           {.name = "mean", .operation = Pooling{Pooling::Reduction::average, {3, 3, 3}}},
                           {.name = "flat", .operation = Flatten{}},
                           {.name = "loss", .operation = SoftmaxLoss{}}}};
  const TrainingGraph graph = build_training_graph(net, 2);
  const double map = 2. * 36 * 3;  // elements; the pools make 2 x 9 x 3 and 2 x 1 x 3 of it
  const std::map<std::string, Arithmetic> expected = {
      {"a/BiasAdd", {0, map, 0}},
      {"norm/FusedBatchNorm", {2 * map, 4 * map, 0}},
      {"more/AddN", {0, 2 * map, 0}},
      {"max/MaxPool", {0, 0, 9. * 54}},
      {"mean/AvgPool", {0, 9. * 6, 0}},
      {"loss/SparseSoftmaxCrossEntropyWithLogits", {0, 18, 18}},
      {"gradients/mean/AvgPoolGrad", {0, 9. * 6, 0}},
      {"gradients/max/MaxPoolGrad", {0, 0, 9. * 54}},
      {"gradients/norm/AddN", {0, map, 0}},
      {"gradients/norm/FusedBatchNormGrad", {3 * map, 5 * map, 0}},
      {"gradients/a/AddN", {0, map, 0}},
      {"gradients/a/BiasAddGrad", {0, map, 0}},
      {"train/a/weights/ApplyAdam", {4. * 6, 6. * 6, 2. * 6}},
      {"train/a/bias/ApplyAdam", {4. * 3, 6. * 3, 2. * 3}},
  };
  std::set<std::string> seen;
  for_each_operator(graph, [&](std::size_t, const TrainingOperator& op) {
    const auto found = expected.find(op.name);
    if (found == expected.end()) return;
    INFO(op.name);
    seen.insert(op.name);
    CHECK(op.work.multiplications == found->second.multiplications);
    CHECK(op.work.additions == found->second.additions);
    CHECK(op.work.other == found->second.other);
  });
  CHECK(seen.size() == expected.size());
}

TEST_CASE(
    "training graph: bytes of an operator are those of its tensors, rows of tables and reshapes aside") {
  for_each_graph([](const Net&, const TrainingGraph& graph) {
    for_each_operator(graph, [&](std::size_t v, const TrainingOperator& op) {
      INFO(described(graph, v));
      Bytes read, written;
      for (const int tensor : op.reads) read += graph.tensors[at(tensor)].bytes();
      for (const int tensor : op.writes) written += graph.tensors[at(tensor)].bytes();
      if (op.type == Type::reshape)
        CHECK((op.bytes_read == Bytes() && op.bytes_written == Bytes()));
      else if (op.type == Type::gather)
        CHECK((op.bytes_read == graph.tensors[at(op.reads[0])].bytes() + written &&
               op.bytes_written == written));
      else if (op.type == Type::slice)
        CHECK((op.bytes_read == written && op.bytes_written == written));
      else if (op.type == Type::scatter_sub)  // ids, the rows, and what is subtracted from them
        CHECK((op.bytes_written == graph.tensors[at(op.reads[2])].bytes() &&
               op.bytes_read == 2 * op.bytes_written + graph.tensors[at(op.reads[1])].bytes()));
      else
        CHECK((op.bytes_read == read && op.bytes_written == written));
    });
  });
}

TEST_CASE("training graph: twice the batch is twice the work of every operator before the updates") {
  for (const Net& net : catalog_and_random_nets(30)) {
    INFO(net.name);
    const TrainingGraph one = build_training_graph(net, 3), two = build_training_graph(net, 6);
    REQUIRE(boost::num_vertices(one.operators) == boost::num_vertices(two.operators));
    CHECK(boost::num_edges(one.operators) == boost::num_edges(two.operators));
    CHECK(trained_parameters(one) == trained_parameters(two));
    CHECK(matrix_flops(two).value() <= 2 * matrix_flops(one).value());
    for_each_operator(one, [&](std::size_t v, const TrainingOperator& op) {
      const TrainingOperator& larger = two.operators[v];
      INFO(described(one, v));
      CHECK(op.name == larger.name);
      CHECK(op.window == larger.window);
      CHECK(larger.patch_elements == 2 * op.patch_elements);
      CHECK(larger.work.total() >= op.work.total());
      CHECK(larger.work.total() <= 2 * op.work.total());
      const bool drawn = net.name == "word2vec";  // the negatives' part is one a step
      const bool of_variables = op.phase == TrainingPhase::update || op.type == Type::add_n;
      if (!drawn && !of_variables) CHECK(larger.work.total() == 2 * op.work.total());
      if (op.type >= Type::apply_adam && op.type < Type::scatter_sub)
        CHECK(larger.work.total() == op.work.total());
      if (is_matrix_product(op.type) && !drawn) CHECK(larger.work.total() == 2 * op.work.total());
    });
  }
}

}  // namespace weir
