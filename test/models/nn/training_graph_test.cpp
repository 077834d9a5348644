// Training graphs have the edges that their tensors make, each phase after the one before.
#include "models/nn/training_graph.h"

#include <boost/graph/topological_sort.hpp>
#include <boost/range/iterator_range.hpp>
#include <catch2/catch.hpp>
#include <set>

#include "test/models/nn/each_graph.h"

namespace weir {
namespace {

using Type = OperatorType;

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
