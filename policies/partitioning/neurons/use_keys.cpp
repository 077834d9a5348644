#include "policies/partitioning/neurons/use_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "policies/partitioning/fetched_layers.h"

namespace weir {
namespace {

constexpr const char* room_key = "on_device_gb";

}  // namespace

Bytes read_neuron_room(Params& params) {
  return Bytes(
      Params::unit(room_key) *
      params.number({room_key,
                     "Weights that the device's memory holds while tokens are generated: the LM head "
                     "and the projections, then neurons. All weights lie in its host's memory."},
                    {0, 1e6}));
}

std::optional<std::int64_t> read_followed_layers(Params& params) {
  return params.integer_or_null(
      {"followed_layers",
       "So many layers' neurons are followed, each of which stands for its neighbours: a run is faster by as "
       "much. null: every layer's."},
      {2, 4096});
}

StageGraph::Weights weights_of_neurons(const StageGraph& stage, const LayerNeurons& neurons, Bytes room) {
  Bytes matrices{}, all_neurons{};
  for (const Part& part : stage.parts) {
    matrices += static_cast<double>(part.times) * weights_of(part.operators);
    if (!is_layer(part)) continue;
    for (const NeuronBlock block : neuron_blocks)
      all_neurons +=
          static_cast<double>(part.times * neurons.count[block]) * bytes_per_neuron(neurons.kernels[block]);
  }
  const Bytes dense = matrices - all_neurons;
  if (room < dense)
    throw UnfitKey(room_key, fmt::format("expected at least {:.2f}: projections and the LM head stay on the "
                                         "device (all weights are {:.2f} GB)",
                                         dense.value() / 1e9, stage.weights.all.value() / 1e9));
  const Bytes hot = std::min(room - dense, all_neurons);
  return {stage.weights.all, dense + hot, stage.weights.all, hot};
}

}  // namespace weir
