// Tensors of a training step are held while something still reads them.
#include "models/nn/training_graph.h"

#include <catch2/catch.hpp>

#include "test/models/nn/each_graph.h"

namespace weir {

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

}  // namespace weir
