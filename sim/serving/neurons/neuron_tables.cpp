#include "sim/serving/neurons/neuron_tables.h"

#include <algorithm>

#include "policies/placement/neurons/online/adjustment.h"
#include "policies/placement/neurons/online/indices.h"

namespace weir {
namespace {

void add(std::vector<std::uint16_t>& sums, std::span<const std::uint8_t> marks) {
  std::ranges::transform(sums, marks, sums.begin(), [](std::uint16_t sum, std::uint8_t mark) {
    return static_cast<std::uint16_t>(sum + mark);
  });
}

void add(SideLoad& sum, std::uint16_t uses) {
  sum.read += 1;
  sum.computed += uses != 0;
  sum.uses += uses;
}

}  // namespace

NeuronTables::NeuronTables(std::shared_ptr<const NeuronPlan> plan, const Rank& rank,
                           const NeuronMapping& start, NeuronTotals& totals)
    : plan_(std::move(plan)),
      rank_(&rank),
      totals_(&totals),
      sites_(start.layers),
      moves_(*plan_, sites_),
      followed_(static_cast<std::size_t>(plan_->counts.layers), plan_->members),
      loads_(static_cast<std::size_t>(plan_->layers), plan_->members) {}

SequenceNeurons& NeuronTables::sequence(const Sequence& of) {
  std::unique_ptr<SequenceNeurons>& found = sequences_[of.request];
  if (!found) found = std::make_unique<SequenceNeurons>(*plan_, of.request, of.prompt_tokens);
  return *found;
}

void NeuronTables::forget(std::int32_t request) {
  sequences_.erase(request);
}

void NeuronTables::pass(std::span<const Sequence> decodes) {
  if (!plan_->activity) return;
  PredictionCounts nothing;
  for (const Sequence& of : decodes) {
    SequenceNeurons& one = sequence(of);
    one.next();
    for (std::int64_t l = 0; l < plan_->counts.layers; ++l)
      for (const NeuronBlock block : neuron_blocks) {
        one.expect(l, block, nothing);
        one.learn(l, block);
      }
  }
}

const SideLoads* NeuronTables::next(std::span<const Sequence> sequences, const BatchShape& batch) {
  if (!plan_->activity) {
    fill_dense(std::ssize(sequences));
    return &loads_;
  }
  time_projection(batch);
  batch_.clear();
  for (const Sequence& of : sequences) batch_.push_back(&sequence(of));
  for (SequenceNeurons* one : batch_) one->next();
  followed_ = SideLoads(static_cast<std::size_t>(plan_->counts.layers), plan_->members);
  for (std::int64_t l = 0; l < plan_->counts.layers; ++l) {
    follow(l, NeuronBlock::attention);
    for (const NeuronBlock block : neuron_blocks)
      totals_->remapped +=
          moves_.go_on(l, block, projection_, sites_[static_cast<std::size_t>(l)][block],
                       followed_.at(neuron_load(NeuronTask::moved, block), static_cast<std::size_t>(l))) *
          plan_->machine.costs[block].bytes;
    if (plan_->use.adjusts) swap(l);
    follow(l, NeuronBlock::mlp);
  }
  moves_.end_token(sites_, projection_);
  spread();
  return &loads_;
}

void NeuronTables::follow(std::int64_t layer, NeuronBlock block) {
  const auto neurons = static_cast<std::size_t>(plan_->counts.of(block));
  reads_.assign(neurons, 0);
  uses_.assign(neurons, 0);
  for (SequenceNeurons* one : batch_) {
    const auto [read, active] = one->expect(layer, block, totals_->predictions);
    add(reads_, read);
    add(uses_, active);
    one->learn(layer, block);
  }
  moves_.computed(layer, block, uses_);
  count(layer, block);
}

void NeuronTables::count(std::int64_t layer, NeuronBlock block) {
  const auto at = static_cast<std::size_t>(layer);
  const NeuronSites& sites = sites_[at][block];
  SideLoad& device = followed_.at(neuron_load(NeuronTask::on_device, block), at)[0];
  const std::span<SideLoad> dimms = followed_.at(neuron_load(NeuronTask::in_host, block), at);
  const std::uint16_t* const reads = reads_.data();
  for (const std::uint32_t i : indices_where(reads_.size(), [=](std::size_t n) { return reads[n] != 0; }))
    add(sites.on_gpu[i] ? device : dimms[sites.dimm[i]], uses_[i]);
}

std::span<const std::uint8_t> NeuronTables::hottest_states(std::int64_t layer, NeuronBlock block) {
  const std::span<const std::uint8_t> first = batch_.front()->states(layer, block);
  if (batch_.size() == 1) return first;
  std::vector<std::uint8_t>& hottest = hottest_[block];
  hottest.assign(first.begin(), first.end());
  for (const SequenceNeurons* one : batch_)
    std::ranges::transform(hottest, one->states(layer, block), hottest.begin(),
                           [](std::uint8_t a, std::uint8_t b) { return std::max(a, b); });
  return hottest;
}

// A neuron that any sequence finds hot is; both blocks' swaps begin with a launch of their own.
void NeuronTables::swap(std::int64_t layer) {
  const auto& [attention, mlp] = plan_->swaps;
  if (!attention || !mlp) return;
  const Seconds left = projection_ - attention->fixed - mlp->fixed;
  const Bytes neuron = plan_->machine.costs.mlp.bytes;
  const Bytes budget = left > Seconds(0) ? left / mlp->each * neuron : Bytes(0);
  LayerSites& sites = sites_[static_cast<std::size_t>(layer)];
  const auto adjustable = [&](NeuronBlock block) {
    return AdjustableBlock{hottest_states(layer, block), sites[block].on_gpu,
                           plan_->machine.costs[block].bytes};
  };
  const auto chosen = swaps({adjustable(NeuronBlock::attention), adjustable(NeuronBlock::mlp)}, budget);
  for (const NeuronBlock block : neuron_blocks) {
    for (const NeuronSwap& one : chosen[block]) {
      sites[block].on_gpu[one.in] = 1;
      sites[block].on_gpu[one.out] = 0;
    }
    const auto count = static_cast<double>(chosen[block].size());
    followed_.at(neuron_load(NeuronTask::swapped, block), static_cast<std::size_t>(layer))[0] = {count, count,
                                                                                                 count};
    totals_->swapped += count * plan_->machine.costs[block].bytes;
  }
}

// Every layer has what the followed one has that stands for it.
void NeuronTables::spread() {
  for (std::int64_t l = 0; l < plan_->layers; ++l)
    for (int load = 0; load < neuron_loads; ++load)
      std::ranges::copy(followed_.at(load, static_cast<std::size_t>(plan_->followed(l))),
                        loads_.at(load, static_cast<std::size_t>(l)).begin());
}

void NeuronTables::fill_dense(std::int64_t decodes) {
  if (std::exchange(dense_decodes_, decodes) == decodes) return;
  followed_ = SideLoads(static_cast<std::size_t>(plan_->counts.layers), plan_->members);
  for (std::int64_t l = 0; l < plan_->counts.layers; ++l)
    for (const NeuronBlock block : neuron_blocks) {
      reads_.assign(static_cast<std::size_t>(plan_->counts.of(block)), 1);
      uses_.assign(reads_.size(), static_cast<std::uint16_t>(decodes));
      count(l, block);
    }
  spread();
}

void NeuronTables::time_projection(const BatchShape& batch) {
  if (std::exchange(projected_decodes_, batch.decodes) == batch.decodes) return;
  projection_ = rank_->cost(plan_->projection, batch).time;
}

}  // namespace weir
