#include "sim/serving/neurons/sequence_neurons.h"

#include <algorithm>
#include <string>

#include "sim/core/rng.h"

namespace weir {
namespace {

// Tokens of a prompt that states begin with. A frequency of 128 of them is told to 4 %, half a state.
constexpr std::int64_t most_prompt_tokens = 128;

std::uint64_t seed_of(std::uint64_t seed, std::int32_t request) {
  return random_stream(seed, "neurons of " + std::to_string(request))();
}

double sum(std::span<const std::uint8_t> marks) {
  std::uint64_t count = 0;
  for (const std::uint8_t mark : marks) count += mark;
  return static_cast<double>(count);
}

}  // namespace

SequenceNeurons::SequenceNeurons(const NeuronPlan& plan, std::int32_t request, std::int64_t prompt_tokens)
    : plan_(&plan),
      activity_(plan.activity->sequence(seed_of(plan.seed, request))),
      states_(static_cast<std::size_t>(plan.counts.layers)) {
  const std::int64_t tokens = std::min(prompt_tokens, most_prompt_tokens);
  for (auto& layer : states_)
    for (const NeuronBlock block : neuron_blocks)
      layer[block].assign(static_cast<std::size_t>(plan.counts.of(block)), 0);
  // At most 128 of a byte: counted where the states will be.
  for (std::int64_t token = 0; token < tokens; ++token) {
    activity_->next();
    for (std::int64_t l = 0; l < plan.counts.layers; ++l)
      for (const NeuronBlock block : neuron_blocks)
        std::ranges::transform(states_[static_cast<std::size_t>(l)][block], activity_->active(l, block),
                               states_[static_cast<std::size_t>(l)][block].begin(),
                               [](std::uint8_t count, std::uint8_t active) {
                                 return static_cast<std::uint8_t>(count + active);
                               });
  }
  for (auto& layer : states_)
    for (const NeuronBlock block : neuron_blocks)
      for (std::uint8_t& state : layer[block])
        state =
            first_state(static_cast<float>(state) / static_cast<float>(std::max<std::int64_t>(tokens, 1)));
}

void SequenceNeurons::next() {
  activity_->next();
}

// Empty where they are a neuron and its neighbour, which predict() has a faster way for.
std::span<const NeuronParents> SequenceNeurons::parents(std::int64_t layer) const {
  return plan_->neighbours_are_parents ? std::span<const NeuronParents>()
                                       : plan_->activity->parents(layer, NeuronBlock::mlp);
}

// The inputs of QKV are known before it is computed.
SequenceNeurons::Expected SequenceNeurons::expect(std::int64_t layer, NeuronBlock block,
                                                  PredictionCounts& counts) {
  const std::span<const std::uint8_t> truth = activity_->active(layer, block);
  if (block == NeuronBlock::attention) return {truth, truth};
  const bool observed_only = plan_->use.observed_only;
  LayerBefore before;
  if (layer > 0) {
    before.active =
        observed_only ? std::span<const std::uint8_t>(found_before_) : activity_->active(layer - 1, block);
    before.parents = parents(layer);
  }
  predicted_.resize(truth.size());
  found_.resize(truth.size());
  predict(plan_->use.predictor, states(layer, block), before, truth, predicted_);
  std::ranges::transform(predicted_, truth, found_.begin(),
                         [](std::uint8_t a, std::uint8_t b) { return static_cast<std::uint8_t>(a & b); });
  counts += {static_cast<double>(truth.size()), sum(truth), sum(predicted_), sum(found_)};
  return {predicted_, found_};
}

void SequenceNeurons::learn(std::int64_t layer, NeuronBlock block) {
  const bool computed = plan_->use.observed_only && block == NeuronBlock::mlp;
  update(states_[static_cast<std::size_t>(layer)][block],
         computed ? std::span<const std::uint8_t>(found_) : activity_->active(layer, block));
  if (computed) std::swap(found_, found_before_);
}

}  // namespace weir
