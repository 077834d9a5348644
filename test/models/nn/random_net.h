#pragma once
// The tests of models/nn run over these: random lists of layers, each with its sums in closed form.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "models/nn/training_graph.h"

namespace weir {

// Layers one after the other, some with a side branch; the first ones may be frozen.
struct RandomNet {
  Net net;
  std::int64_t batch = 1;
  // One example takes so many multiply-adds of the forward pass and of the two gradients, counted by hand.
  double forward = 0, backward = 0;
  std::int64_t trained = 0;          // parameters
  int matrices = 0, frozen = 0;      // convolutions and dense layers; the ones that are not trained
  std::vector<std::string> weights;  // of the trained ones, by tensor
};

RandomNet random_net(std::mt19937& random);

// "name: [shapes of reads] -> [shapes of writes]", for messages.
std::string described(const TrainingGraph& graph, std::size_t vertex);

// "name(what it reads) -> what it writes", an operator a line, by the tensors' names.
std::vector<std::string> listing(const TrainingGraph& graph);

// The tensor of that name; throws std::out_of_range.
const Tensor& tensor_named(const TrainingGraph& graph, const std::string& name);

}  // namespace weir
