// The part of an operator that multipliers and adders can do follows from its arithmetic; here the types by
// name, as Liu et al. (MICRO 2018, Section II-A) have them where they speak of one.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "models/nn/net_catalog.h"
#include "models/nn/operations.h"
#include "policies/runtime/pair_work.h"

using namespace weir;

namespace {

using Type = OperatorType;

// The operator is a graph of its own, between maps of one element.
TensorOperation operation(Type type, double elements, std::int64_t patch_elements = 0) {
  TrainingGraph graph;
  graph.tensors = {{.name = "map", .shape = {1, 1, 1, 1}}};
  TrainingOperator op;
  op.type = type;
  op.reads = {0, 0};
  op.writes = {0};
  op.work = elements * unit_work(type).work;
  op.patch_elements = patch_elements;
  boost::add_vertex(op, graph.operators);
  return operation_of(graph, 0);
}

std::map<PairsDo, std::set<Type>> types_of(const std::string& net) {
  const TrainingGraph graph = build_training_graph(catalog_net(net));
  std::map<PairsDo, std::set<Type>> types;
  for (std::size_t v = 0; v < boost::num_vertices(graph.operators); ++v)
    types[pairs_do(operation_of(graph, v))].insert(graph.operators[v].type);
  return types;
}

}  // namespace

TEST_CASE("pair work: matrices go whole, gradients with patches are split, comparisons need a processor",
          "[runtime]") {
  for (const Type type : {Type::conv2d, Type::mat_mul, Type::bias_add, Type::bias_add_grad, Type::mul,
                          Type::add, Type::sub, Type::sum, Type::mean, Type::fused_batch_norm, Type::avg_pool,
                          Type::apply_momentum, Type::apply_gradient_descent})
    CHECK(pairs_do(operation(type, 10)) == PairsDo::all);
  for (const Type type : {Type::relu, Type::relu_grad, Type::max_pool, Type::max_pool_grad, Type::slice,
                          Type::reshape, Type::concat, Type::random_uniform, Type::gather, Type::sigmoid})
    CHECK(pairs_do(operation(type, 10)) == PairsDo::little);
  CHECK(pairs_do(operation(Type::apply_adam, 10)) == PairsDo::most);  // a root and a division an element
}

TEST_CASE("pair work: patches count for gradients alone, and half is not most", "[runtime]") {
  CHECK(pairs_do(operation(Type::conv2d, 10, 5)) == PairsDo::all);
  for (const Type gradient : {Type::conv2d_backprop_filter, Type::conv2d_backprop_input}) {
    CHECK(pairs_do(operation(gradient, 10)) == PairsDo::all);  // of a 1 x 1 filter
    CHECK(pairs_do(operation(gradient, 10, 1)) == PairsDo::most);
    CHECK(pairs_do(operation(gradient, 10, 19)) == PairsDo::most);
    CHECK(pairs_do(operation(gradient, 10, 20)) == PairsDo::little);
  }
  CHECK(pairs_do(operation(Type::tanh, 10)) == PairsDo::little);  // two additions, two others
}

TEST_CASE("pair work: nothing of an operator's work is lost", "[runtime]") {
  for (int t = 0; t < operator_types; ++t) {
    const Type type = static_cast<Type>(t);
    const auto [middle, rest] = split(operation(type, 7, 3));
    const bool gradient = type == Type::conv2d_backprop_filter || type == Type::conv2d_backprop_input;
    INFO(to_string(type));
    CHECK(middle.work.multiplications + middle.work.additions + rest.work.total() + rest.patches.elements ==
          7 * unit_work(type).work.total() + (gradient ? 3 : 0));
    CHECK((pairs_do(operation(type, 7, 3)) == PairsDo::all) ==
          only_multiplies_and_adds(operation(type, 7, 3)));
  }
}

TEST_CASE("pair work: nets have the split that their windows and optimisers give", "[runtime]") {
  auto vgg19 = types_of("vgg19");
  CHECK(vgg19[PairsDo::most] == std::set<Type>{Type::conv2d_backprop_filter, Type::conv2d_backprop_input});
  CHECK(vgg19[PairsDo::all].contains(Type::conv2d));
  CHECK(vgg19[PairsDo::all].contains(Type::mat_mul));
  CHECK_FALSE(vgg19[PairsDo::all].contains(Type::conv2d_backprop_filter));
  auto resnet50 = types_of("resnet50");  // 1 x 1 filters beside 3 x 3 ones
  for (const PairsDo kind : {PairsDo::all, PairsDo::most})
    CHECK(resnet50[kind].contains(Type::conv2d_backprop_filter));
  CHECK(types_of("dcgan")[PairsDo::most].contains(Type::apply_adam));
}
