#include "policies/partitioning/neurons/neuron_kernels.h"

#include <fmt/format.h>

#include <stdexcept>

#include "policies/partitioning/fetched_layers.h"

namespace weir {
namespace {

const Gemm& matrix(const OperatorGraph& layer, const char* name, const char* policy) {
  for (std::size_t v = 0; v < boost::num_vertices(layer); ++v)
    if (const auto* gemm = layer[v].as<Gemm>(); gemm && layer[v].name == name) return *gemm;
  throw std::invalid_argument(fmt::format(
      "{} computes the neurons of dense feed-forward layers, and the model has no {}", policy, name));
}

Neurons made_of(const Gemm& weights, std::int64_t width, std::int64_t before, std::int64_t behind) {
  return {width, before, behind, weights.weights, weights.activations, weights.outputs};
}

}  // namespace

LayerNeurons layer_neurons(const StageGraph& stage, const char* policy) {
  const Part* layer = nullptr;
  for (const Part& part : stage.parts) {
    if (!is_layer(part)) continue;
    if (layer) throw std::invalid_argument(fmt::format("{} needs layers that are all alike", policy));
    layer = &part;
  }
  if (!layer) throw std::invalid_argument(fmt::format("{} needs a stage with layers", policy));
  for (std::size_t v = 0; v < boost::num_vertices(layer->operators); ++v)
    if (is_collective(layer->operators[v]))
      throw std::invalid_argument(
          fmt::format("{} computes whole neurons on one device: expected tensor 1", policy));
  const Gemm &qkv = matrix(layer->operators, "qkv_proj", policy),
             &up = matrix(layer->operators, "gate_up_proj", policy),
             &down = matrix(layer->operators, "down_proj", policy);
  LayerNeurons neurons;
  neurons.count = {qkv.in, down.in};
  neurons.kernels.attention = made_of(qkv, qkv.out, 0, 1);
  neurons.kernels.mlp = made_of(up, up.in, up.out / down.in, 1);
  return neurons;
}

}  // namespace weir
