#pragma once
// The laws of training graphs run over these: every net of the catalog and random ones, operator by operator.
#include <cstdint>
#include <random>
#include <vector>

#include "models/nn/net_catalog.h"
#include "models/nn/training_graph.h"
#include "test/models/nn/random_net.h"

namespace weir {

inline std::size_t at(int tensor) {
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

inline std::vector<Net> catalog_and_random_nets(int count) {
  std::vector<Net> nets;
  for (const std::string& name : net_names()) nets.push_back(catalog_net(name));
  std::mt19937 random(7);
  for (int i = 0; i < count; ++i) nets.push_back(random_net(random).net);
  return nets;
}

}  // namespace weir
