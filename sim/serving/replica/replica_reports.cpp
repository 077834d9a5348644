// A replica tells whoever listens of its queue and its KV cache.
#include <fmt/format.h>

#include <algorithm>

#include "sim/serving/replica/replica.h"

namespace weir {

std::string Replica::state() const {
  std::int64_t held = 0, coming = 0;
  for (const Held& one : held_) held += one.blocks;
  for (const SequenceView& view : running_) coming += view.in_flight;
  std::string words =
      fmt::format("replica {} holds {} of {} KV blocks", index_, cache_.used(), cache_.total());
  if (held > 0)
    words += fmt::format(", {} of them for {} prompts that wait for room on another", held, held_.size());
  if (coming > 0) words += fmt::format(", and has room for {} requests whose KV cache is to come", coming);
  if (preempted_ > 0)
    words += fmt::format(", has preempted requests {} times since it computed a step", preempted_);
  return words + fmt::format("; {} wait there", waiting_.size());
}

void Replica::tell(ReplicaListener* listener) {
  if (!listener) return;
  listeners_.push_back(listener);
  if (!prefixes_.path().shared()) return;
  for (int pool = 0; pool < cache_.channels(); ++pool) cache_.held_blocks(pool).follow();
}

void Replica::tell_waiting(Seconds now) {
  for (ReplicaListener* listener : listeners_)
    listener->waiting(static_cast<std::int64_t>(waiting_.size() + overlooked_.size()), now);
}

// Pools of channels are one cache to whoever listens. How far an answer is published while it is written
// hangs on who looked for it when (write_up): of a request that runs its prompt alone is told.
void Replica::tell_kept(Seconds now) {
  for (ReplicaListener* listener : listeners_) listener->used(cache_.used(), now);
  for (int pool = 0; pool < cache_.channels(); ++pool) {
    std::vector<std::int32_t>& changed = cache_.held_blocks(pool).changed();
    std::ranges::sort(changed);
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    for (const std::int32_t text : changed) {
      std::int64_t end = 0;
      for (int other = 0; other < cache_.channels(); ++other)
        end = std::max(end, cache_.held_blocks(other).end_of_text(text));
      const RequestRecord& record = recorder_.record(text);
      if (record.finished < Seconds(0))
        end = std::min(end, record.request.input_tokens / cache_.block_tokens());
      for (ReplicaListener* listener : listeners_) listener->kept(text, end, now);
    }
    changed.clear();
  }
}

}  // namespace weir
