#include "models/nn/training_graph.h"

#include <boost/graph/topological_sort.hpp>
#include <boost/range/iterator_range.hpp>
#include <catch2/catch.hpp>
#include <set>

#include "models/nn/net_catalog.h"
#include "test/models/nn/random_net.h"

namespace weir {
namespace {

using Type = OperatorType;

std::size_t at(int tensor) {
  return static_cast<std::size_t>(tensor);
}

template <class Action>
void for_each_graph(const Action& action) {
  for (const std::string& name : net_names()) {
    const Net net = catalog_net(name);
    INFO(name);
    action(net, build_training_graph(net));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i) {
    const RandomNet drawn = random_net(random);
    INFO("random net " << i);
    action(drawn.net, build_training_graph(drawn.net, drawn.batch));
  }
}

template <class Action>
void for_each_operator(const TrainingGraph& graph, const Action& action) {
  for (std::size_t v = 0; v < boost::num_vertices(graph.operators); ++v) action(v, graph.operators[v]);
}

std::vector<Net> catalog_and_random_nets(int count) {
  std::vector<Net> nets;
  for (const std::string& name : net_names()) nets.push_back(catalog_net(name));
  std::mt19937 random(7);
  for (int i = 0; i < count; ++i) nets.push_back(random_net(random).net);
  return nets;
}

}  // namespace

TEST_CASE("training graph: vertices are in a topological order, and forward, backward and updates follow") {
  for_each_graph([](const Net& net, const TrainingGraph& graph) {
    std::set<std::string> layers;
    for (const Layer& layer : net.layers) layers.insert(layer.name);
    bool rising = true;
    for (const auto e : boost::make_iterator_range(boost::edges(graph.operators)))
      rising = rising && boost::source(e, graph.operators) < boost::target(e, graph.operators);
    CHECK(rising);
    std::vector<std::size_t> sorted;
    CHECK_NOTHROW(boost::topological_sort(graph.operators, std::back_inserter(sorted)));
    TrainingPhase before = TrainingPhase::forward;
    std::set<std::string> names;
    for_each_operator(graph, [&](std::size_t, const TrainingOperator& op) {
      if (op.phase < before) FAIL(op.name);
      if (!op.layer.empty() && !layers.contains(op.layer)) FAIL(op.name + " is of " + op.layer);
      before = op.phase;
      names.insert(op.name);
    });
    CHECK(before == TrainingPhase::update);
    CHECK(names.size() == boost::num_vertices(graph.operators));
  });
}

TEST_CASE(
    "training graph: edges are exactly what is read after it was written, and updated after it was read") {
  for_each_graph([](const Net&, const TrainingGraph& graph) {
    std::set<std::tuple<std::size_t, std::size_t, int>> expected, found, anti, found_anti, carried,
        found_carried;
    std::vector<int> writer(graph.tensors.size(), -1);
    for_each_operator(graph, [&](std::size_t v, const TrainingOperator& op) {
      for (const int written : op.writes) {
        CHECK(writer[at(written)] == -1);  // nothing is written twice
        writer[at(written)] = static_cast<int>(v);
      }
    });
    for_each_operator(graph, [&](std::size_t v, const TrainingOperator& op) {
      for (const int read : op.reads) {
        const TensorKind kind = graph.tensors[at(read)].kind;
        const auto by = static_cast<std::size_t>(writer[at(read)]);
        if (kind == TensorKind::activation || kind == TensorKind::gradient) {
          REQUIRE(writer[at(read)] >= 0);
          expected.insert({by, v, read});
        } else if (kind != TensorKind::fed && writer[at(read)] >= 0) {
          carried.insert({by, v, read});
          if (by != v) anti.insert({v, by, read});
        } else {
          CHECK((kind == TensorKind::variable || kind == TensorKind::fed));  // a frozen layer's, or fed
        }
      }
    });
    for (const auto e : boost::make_iterator_range(boost::edges(graph.operators))) {
      const auto& [kind, tensor] = graph.operators[e];
      auto& all = kind == TensorDependence::Kind::data ? found : found_anti;
      const bool added =
          all.insert({boost::source(e, graph.operators), boost::target(e, graph.operators), tensor}).second;
      CHECK(added);
    }
    for (const CarriedDependence& each : graph.carried)
      found_carried.insert({each.from, each.to, each.tensor});
    CHECK((found == expected));
    CHECK((found_anti == anti));
    CHECK((found_carried == carried));
    CHECK(found_carried.size() == graph.carried.size());
  });
}

TEST_CASE("training graph: every trained variable has a gradient of its shape, and one update") {
  for_each_graph([](const Net& net, const TrainingGraph& graph) {
    std::map<int, int> updates;
    for_each_operator(graph, [&](std::size_t v, const TrainingOperator& op) {
      if (!is_update(op.type)) {
        for (const int written : op.writes) CHECK(graph.tensors[at(written)].kind != TensorKind::variable);
        return;
      }
      INFO(described(graph, v));
      const int variable = op.reads.front(), gradient = op.reads.back();
      ++updates[variable];
      CHECK(graph.tensors[at(variable)].kind == TensorKind::variable);
      CHECK(graph.tensors[at(gradient)].kind == TensorKind::gradient);
      if (op.type != Type::scatter_sub)
        CHECK(graph.tensors[at(gradient)].shape == graph.tensors[at(variable)].shape);
      else
        CHECK(graph.tensors[at(gradient)].shape.back() == graph.tensors[at(variable)].shape.back());
    });
    for (const auto& [variable, count] : updates) CHECK(count == 1);
    std::set<std::string> frozen;
    for (const Layer& layer : net.layers)
      if (!layer.trainable) frozen.insert(layer.name);
    for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
      if (graph.tensors[t].kind != TensorKind::variable) continue;
      INFO(graph.tensors[t].name);
      CHECK(updates.contains(static_cast<int>(t)) == !frozen.contains(graph.tensors[t].layer));
    }
  });
}

TEST_CASE("training graph: a matrix product has the gradients that its inputs need, of their shapes") {
  for_each_graph([](const Net& net, const TrainingGraph& graph) {
    // What a trained variable has a part in, found anew from the operators.
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
    // What the table's update moves follows the words, not the table.
    CHECK(trained_parameters(graph) == 50 * width + (width + units + 1) * 4 * units +
                                           (layers - 1) * (2 * units + 1) * 4 * units + 50 * (units + 1));
  }
}

TEST_CASE("training graph: what the backward pass reads is alive until then") {
  for_each_graph([](const Net&, const TrainingGraph& graph) {
    const std::vector<TensorLifetime> lives = lifetimes(graph);
    Bytes throughout, all;
    for (const Tensor& tensor : graph.tensors) {
      all += tensor.bytes();
      if (tensor.kind != TensorKind::activation && tensor.kind != TensorKind::gradient)
        throughout += tensor.bytes();
    }
    int kept = 0;  // activations that the backward pass needs
    bool alive = true;
    for_each_operator(graph, [&](std::size_t v, const TrainingOperator& op) {
      for (const int read : op.reads) {
        const TensorLifetime& life = lives[at(read)];
        alive = alive && life.written < static_cast<int>(v) && life.last_read >= static_cast<int>(v);
        kept += op.phase == TrainingPhase::backward && graph.tensors[at(read)].kind == TensorKind::activation;
      }
    });
    CHECK(alive);
    CHECK(kept > 0);
    CHECK(peak_bytes(graph) >= throughout);
    CHECK(peak_bytes(graph) <= all);
  });
}

TEST_CASE("training graph: the most that is held at once, of three layers by hand") {
  // Dense 4 -> 8 with ReLU -> 2, softmax, batch 1, in elements. Throughout: x 4, labels 1, weights 32 + 16,
  // and the two scalars of the loss' gradient (1, a count). Most when the second weights' gradient is there:
  // hidden map 8 (ReLU), logits' gradient 2, of weights 16; not the map before ReLU, nor logits, loss or its
  // own.
  const Net net{.name = "small",
                .inputs = {{"x", {4}}},
                .layers = {{.name = "a", .operation = Dense{8}, .activation = Activation::relu},
                           {.name = "b", .operation = Dense{2}},
                           {.name = "loss", .operation = SoftmaxLoss{}}}};
  const TrainingGraph graph = build_training_graph(net, 1);
  const double throughout = 4 + 1 + 32 + 16 + 2;
  // At the first weights' gradient: theirs 32, the second's 16, and what it reads, 8.
  CHECK(peak_bytes(graph).value() == 4 * (throughout + 32 + 16 + 8));
}

TEST_CASE("training graph: no gradient is made in vain") {
  for_each_graph([](const Net&, const TrainingGraph& graph) {
    const std::vector<TensorLifetime> lives = lifetimes(graph);
    for_each_operator(graph, [&](std::size_t v, const TrainingOperator& op) {
      if (op.phase == TrainingPhase::forward) return;
      INFO(described(graph, v));
      for (const int written : op.writes)
        if (graph.tensors[at(written)].kind == TensorKind::gradient && op.type != Type::fused_batch_norm_grad)
          CHECK(lives[at(written)].last_read > static_cast<int>(v));
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

TEST_CASE("training graph: what was reshaped is held as long as its other view is read") {
  // 1 -> 1, flattened, -> 4. Throughout: x 1, labels 1, weights 1 + 4, the loss' gradient and a count. Most
  // at the loss: hidden 1, logits 4, the loss itself 1 and its gradient 4.
  const Net net{.name = "views",
                .inputs = {{"x", {1}}},
                .layers = {{.name = "a", .operation = Dense{1}},
                           {.name = "flat", .operation = Flatten{}},
                           {.name = "b", .operation = Dense{4}},
                           {.name = "loss", .operation = SoftmaxLoss{}}}};
  CHECK(peak_bytes(build_training_graph(net, 1)).value() == 4 * (1 + 1 + 1 + 4 + 2 + 1 + 4 + 1 + 4));
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

TEST_CASE("training graph: the same net gives the same graph") {
  const Net net = catalog_net("inception3");
  const TrainingGraph one = build_training_graph(net), two = build_training_graph(net);
  REQUIRE(boost::num_vertices(one.operators) == boost::num_vertices(two.operators));
  for_each_operator(one, [&](std::size_t v, const TrainingOperator& op) {
    CHECK(op.name == two.operators[v].name);
    CHECK(op.reads == two.operators[v].reads);
  });
}

}  // namespace weir
