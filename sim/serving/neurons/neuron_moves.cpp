#include "sim/serving/neurons/neuron_moves.h"

#include <algorithm>

namespace weir {

NeuronMoves::NeuronMoves(const NeuronPlan& plan, std::span<const LayerSites> start)
    : plan_(&plan), free_(static_cast<std::size_t>(plan.machine.dimms), plan.machine.dimm_room) {
  if (free_.empty()) return;  // none is in the host's memory to be computed there
  for (const LayerSites& layer : start)
    for (const NeuronBlock block : neuron_blocks)
      for (const std::uint8_t home : layer[block].dimm) free_[home] -= bytes(block);
  if (!plan.use.remaps || !plan.activity) return;
  blocks_.resize(start.size());
  for (std::size_t l = 0; l < start.size(); ++l)
    for (const NeuronBlock block : neuron_blocks)
      blocks_[l][block].activations.assign(start[l][block].dimm.size(), 0);
}

void NeuronMoves::computed(std::int64_t layer, NeuronBlock block, std::span<const std::uint16_t> uses) {
  if (blocks_.empty()) return;
  std::vector<std::uint16_t>& sum = blocks_[static_cast<std::size_t>(layer)][block].activations;
  std::ranges::transform(sum, uses, sum.begin(), [](std::uint16_t a, std::uint16_t b) {
    return static_cast<std::uint16_t>(a + (b != 0));  // a neuron is read once, whoever uses it
  });
}

double NeuronMoves::go_on(std::int64_t layer, NeuronBlock block, Seconds projection, NeuronSites& sites,
                          std::span<SideLoad> links) {
  if (blocks_.empty() || !plan_->moves[block]) return 0;
  std::vector<NeuronMove>& chosen = blocks_[static_cast<std::size_t>(layer)][block].chosen;
  // Both blocks share a link, half of the time each.
  const auto most = static_cast<std::size_t>(plan_->moves[block]->within(0.5 * projection));
  std::vector<NeuronMove> left;
  double moved = 0;
  std::size_t link = 0;
  for (std::size_t begin = 0; begin < chosen.size(); ++link) {
    std::size_t end = begin;
    while (end < chosen.size() && chosen[end].from == chosen[begin].from) ++end;
    const std::size_t gone = std::min(begin + most, end);
    for (std::size_t i = begin; i < gone; ++i) {
      sites.dimm[chosen[i].neuron] = chosen[i].to;
      free_[chosen[i].from] += bytes(block);
    }
    left.insert(left.end(), chosen.begin() + static_cast<std::ptrdiff_t>(gone),
                chosen.begin() + static_cast<std::ptrdiff_t>(end));
    const auto count = static_cast<double>(gone - begin);
    links[link] = {count, count, count};
    moved += count;
    begin = end;
  }
  chosen = std::move(left);
  return moved;
}

void NeuronMoves::end_token(std::span<const LayerSites> sites, Seconds projection) {
  if (blocks_.empty() || ++tokens_ < remapping_window) return;
  tokens_ = 0;
  for (std::size_t l = 0; l < blocks_.size(); ++l)
    for (const NeuronBlock block : neuron_blocks)
      choose(blocks_[l][block], sites[l][block], block, projection);
}

void NeuronMoves::choose(Block& block, const NeuronSites& sites, NeuronBlock which, Seconds projection) {
  for (const NeuronMove& late : block.chosen) free_[late.to] += bytes(which);  // stays where it is
  block.chosen.clear();
  if (plan_->moves[which]) {
    const double most = remapping_window * plan_->moves[which]->within(0.5 * projection);
    block.chosen = remapped({.activations = block.activations,
                             .on_gpu = sites.on_gpu,
                             .dimm = sites.dimm,
                             .neuron = bytes(which),
                             .free = free_,
                             .budget = most * bytes(which)});
    for (const NeuronMove& move : block.chosen) free_[move.to] -= bytes(which);
  }
  std::ranges::fill(block.activations, std::uint16_t{0});
}

}  // namespace weir
