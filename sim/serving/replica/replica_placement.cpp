// Where the KV caches of those who wait would lie: in the device's own memory beside its host's while there
// is room, else where the placement policy puts them.
#include <algorithm>

#include "sim/serving/replica/replica.h"

namespace weir {

// Each that could be admitted in this step, if it is given the blocks, gets a channel: as many as there are
// seats and, as each needs one at least, free blocks.
// Where decodes may stay in the device's own memory, requests that find room there go to it.
// With several pipeline stages: what is in flight is another batch and meets this one on no channel. Balanced
// are those that step together.
void Replica::place_waiting() {
  const std::int64_t seats = spec_->batching->max_batch_requests();
  const std::int64_t stages = spec_->parallelism.pipeline;
  std::int64_t most = std::min(seats - std::ssize(running_), (seats + stages - 1) / stages);
  most = std::min({most, cache_.total() - cache_.used(), static_cast<std::int64_t>(waiting_.size())});
  const bool reserves = spec_->kv_cache.admission == Admission::sequence;
  const bool several = plan_->kv_pools.placed_channels() > 1 && cache_.channels() > 1;
  placement_.steps = Validity::unlimited;
  if (most <= 0) return;
  to_place_.clear();
  std::int64_t beside = spare_room(reserves);
  for (std::size_t i = 0; i < static_cast<std::size_t>(most); ++i) {
    SequenceView& view = waiting_.view(i);
    const std::int64_t blocks = cache_.blocks_for(reserves ? view.final_tokens() : view.known_tokens);
    if (blocks > beside) beside = -1;
    view.channel = spare_channel();
    if (beside >= 0)
      beside -= blocks;
    else
      view.channel = -1, to_place_.push_back({view.known_tokens, 0});
  }
  if (const Validity asked = ask_placement(); several) placement_ = asked;
  if (spare_channel() >= 0 && !reserves)
    placement_.steps = 1;  // who finds room there changes with its blocks
  for (std::size_t i = 0, next = 0; next < to_place_.size(); ++i)
    if (SequenceView& view = waiting_.view(i); view.channel < 0)
      view.channel = static_cast<std::int16_t>(to_place_[next++].channel);
}

Validity Replica::ask_placement() {
  placed_.clear(), free_by_channel_.clear();
  for (const SequenceView& view : running_)
    if (!view.in_flight && view.channel != spare_channel())
      placed_.push_back({view.known_tokens, view.channel});
  for (int channel = 0; channel < plan_->kv_pools.placed_channels(); ++channel)
    free_by_channel_.push_back(cache_.free(plan_->kv_pools.of_channel[static_cast<std::size_t>(channel)]));
  return spec_->placement->place({.placed = placed_,
                                  .free_blocks = free_by_channel_,
                                  .block_tokens = cache_.block_tokens(),
                                  .admitted = admitted_,
                                  .mha = plan_->mha},
                                 to_place_);
}

std::int64_t Replica::spare_room(bool reserved) const {
  const std::int16_t channel = spare_channel();
  if (channel < 0) return -1;
  std::int64_t room = cache_.free(plan_->kv_pools.of_channel[static_cast<std::size_t>(channel)]);
  for (const SequenceView& view : running_)
    if (reserved && view.channel == channel) room -= cache_.blocks_for(view.final_tokens()) - view.blocks;
  return room;
}

}  // namespace weir
