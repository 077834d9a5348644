// Machines are told of the operators of nets: products, and patches with the map that they come from.
#include "models/nn/operations.h"

#include <catch2/catch.hpp>

#include "models/nn/net_catalog.h"

namespace weir {
namespace {

TensorOperation operation_named(const std::string& net, const std::string& name) {
  const TrainingGraph graph = build_training_graph(catalog_net(net));
  for (std::size_t v = 0; v < boost::num_vertices(graph.operators); ++v)
    if (graph.operators[v].name == name) return operation_of(graph, v);
  throw std::out_of_range(name);
}

}  // namespace

TEST_CASE("operations: patches know their window and the map that it slides over") {
  using Patches = TensorOperation::Patches;
  const double positions = 32 * 224. * 224;
  CHECK(operation_named("vgg19", "gradients/conv1_1/Conv2DBackpropFilter").patches ==
        Patches{positions * 27, 3, 3, 1, 224, 3});
  CHECK(operation_named("vgg19", "gradients/conv1_2/Conv2DBackpropInput").patches ==
        Patches{positions * 9 * 64, 3, 3, 1, 224, 64});
  CHECK(operation_named("alexnet", "gradients/conv1/Conv2DBackpropFilter").patches ==
        Patches{32 * 54 * 54. * 363, 11, 11, 4, 224, 3});
}

TEST_CASE("operations: gradients of convolutions have patches as soon as a window is more than a point") {
  for (const char* net : {"vgg19", "alexnet", "dcgan", "resnet50", "inception3", "lstm"}) {
    const TrainingGraph graph = build_training_graph(catalog_net(net));
    for (std::size_t v = 0; v < boost::num_vertices(graph.operators); ++v) {
      const TrainingOperator& op = graph.operators[v];
      const TensorOperation operation = operation_of(graph, v);
      const TensorOperation::Patches& patches = operation.patches;
      INFO(net << " " << op.name);
      const bool gradient =
          op.type == OperatorType::conv2d_backprop_filter || op.type == OperatorType::conv2d_backprop_input;
      REQUIRE((patches.elements > 0) == (gradient && op.window > 1));
      if (patches.elements == 0) CHECK(patches == TensorOperation::Patches{});
      CHECK(patches.height * patches.width == (patches.elements > 0 ? op.window : 0));
      // As many patches as positions, each of so many elements.
      if (patches.elements > 0)
        CHECK(std::fmod(patches.elements, static_cast<double>(op.window * patches.channels)) == 0);
      CHECK(operation.is_product() == is_matrix_product(op.type));
      if (operation.is_product()) {
        const auto& [rows, in, out] = operation.product;
        CHECK(rows * in * out == Approx(op.work.multiplications));
      }
    }
  }
}

TEST_CASE("operations: windows of inception's seven by one and one by seven keep their sides") {
  const TrainingGraph graph = build_training_graph(catalog_net("inception3"));
  int tall = 0, wide = 0;
  for (std::size_t v = 0; v < boost::num_vertices(graph.operators); ++v) {
    const TensorOperation::Patches patches = operation_of(graph, v).patches;
    tall += patches.height == 7 && patches.width == 1;
    wide += patches.height == 1 && patches.width == 7;
    if (patches.height == 7) CHECK(patches.map_width == 17);
  }
  CHECK((tall > 0 && wide > 0));
}

}  // namespace weir
