// Deja Vu (ICML 2023, arXiv 2310.17157) as Hermes' authors have it serve from the host's memory (Section
// V-A): a small network ahead of each MLP says which of its neurons will be active, and of these alone the
// weights come over the link; of QKV those of its active inputs. Projections, the LM head and the predictors
// stay on the device. Prompts activate nearly all neurons: their layers are streamed whole.
#include <fmt/format.h>

#include "models/llm/parts/rewrite.h"
#include "policies/partitioning/fetched_layers.h"
#include "policies/partitioning/neurons/neuron_use.h"
#include "policies/partitioning/neurons/use_keys.h"
#include "policies/partitioning/units.h"

namespace weir {
namespace {

constexpr const char* name = "active_weights_in_host";

// In a row, so that each waits for the one before.
Replacement one_by_one(std::vector<Operator> operators) {
  Replacement row;
  row.operators = std::move(operators);
  for (std::size_t i = 1; i < row.operators.size(); ++i) row.edges.push_back({i - 1, i});
  row.first = {0};
  row.last = {row.operators.size() - 1};
  return row;
}

class ActiveWeightsInHost final : public PartitioningPolicy {
 public:
  ActiveWeightsInHost(std::shared_ptr<const PartitioningPolicy> rest, std::int64_t predictor_width,
                      NeuronUse use)
      : rest_(std::move(rest)), predictor_width_(predictor_width), use_(std::move(use)) {}

  StageGraph place(StageGraph stage, std::span<const Unit> units) const override {
    const LayerNeurons neurons = layer_neurons(stage, name);
    const int link = host_link(units);
    if (link < 0)
      throw std::invalid_argument(
          fmt::format("{} needs host memory such as host_dimm among the devices of the node", name));
    unit_for(units, neurons_kind, "gathered matrices", name);
    const StageGraph placed = rest_->place(std::move(stage), units);
    StageGraph prompts;
    prompts.weights = weights_of(placed, neurons);
    prompts.layers = placed.layers;
    Bytes load{};
    for (const NeuronBlock block : neuron_blocks)
      load += static_cast<double>(neurons.count[block]) * bytes_per_neuron(neurons.kernels[block]);
    for (const Part& part : placed.parts)
      is_layer(part) ? append_fetched(prompts, part, load, link, true) : prompts.parts.push_back(part);
    auto decodes =
        std::make_shared<StageGraph>(rewrite(placed, [&](const OperatorGraph& from, std::size_t v) {
          return active_alone(from[v], neurons, link);
        }));
    decodes->weights = prompts.weights;
    prompts.of_decodes = std::move(decodes);
    return prompts;
  }

  HostMemoryUse host_memory() const override { return {.weights = true}; }
  const NeuronUse* neurons() const override { return &use_; }

 private:
  // A layer's active neurons, of which there is room for all: at most those of the next layer are on their
  // way beside them.
  StageGraph::Weights weights_of(const StageGraph& placed, const LayerNeurons& neurons) const {
    StageGraph::Weights weights = weights_of_neurons(placed, neurons, placed.weights.all);
    double layers = 0;
    for (const Part& part : placed.parts)
      if (is_layer(part)) layers += static_cast<double>(part.times);
    const Bytes predictors = layers * (stored_bytes(lowered(predictor(neurons, true), {})) +
                                       stored_bytes(lowered(predictor(neurons, false), {})));
    const Bytes on_their_way = layers > 0 ? 2 / layers * weights.neurons : Bytes(0);
    return {weights.all, weights.on_device - weights.neurons + predictors + on_their_way, weights.all,
            on_their_way};
  }

  Operator predictor(const LayerNeurons& neurons, bool first) const {
    const Neurons& mlp = neurons.kernels.mlp;
    return {.name = "predictor",
            .kernel = Gemm{first ? mlp.width : predictor_width_, first ? predictor_width_ : neurons.count.mlp,
                           mlp.weights, mlp.activations, mlp.outputs}};
  }

  Replacement active_alone(const Operator& op, const LayerNeurons& neurons, int link) const {
    if (is_in_mlp(op)) return {};
    if (!is_qkv(op) && !begins_mlp(op)) return op;
    const NeuronBlock block = is_qkv(op) ? NeuronBlock::attention : NeuronBlock::mlp;
    const int which = neuron_load(NeuronTask::on_device, block);
    const Operator load{.name = "load",
                        .kernel = Copy{Copy::Way::back, bytes_per_neuron(neurons.kernels[block])},
                        .rows = Rows::step,
                        .unit = link,
                        .member = 1,
                        .slot = which};
    const Operator computed{
        .name = op.name, .kernel = neurons.kernels[block], .unit = op.unit, .slot = which};
    if (is_qkv(op)) return one_by_one({load, computed});
    Operator first = predictor(neurons, true), second = predictor(neurons, false);
    first.unit = second.unit = op.unit;
    return one_by_one({first, second, load, computed});
  }

  std::shared_ptr<const PartitioningPolicy> rest_;
  std::int64_t predictor_width_;
  NeuronUse use_;
};

}  // namespace

std::shared_ptr<const PartitioningPolicy> make_device_only_partitioning(Params& params);

std::shared_ptr<const PartitioningPolicy> make_active_weights_in_host_partitioning(Params& params) {
  const std::int64_t width = params.integer(
      {"predictor_width",
       "Of the network that predicts a layer's active MLP neurons, between its two matrices. 1000: what Deja "
       "Vu's code trains (FMInference/DejaVu, sparse_predictor/main_mlp.py, --D)."},
      {1, 1 << 20}, 1000);
  NeuronUse use;
  use.predictor = NeuronPredictor::perfect;
  use.followed_layers = read_followed_layers(params);
  return std::make_shared<ActiveWeightsInHost>(made_by_defaults(make_device_only_partitioning), width,
                                               std::move(use));
}

}  // namespace weir
