// A replica tells whoever listens of its queue and its KV cache.
#include <algorithm>

#include "sim/serving/replica/replica.h"

namespace weir {

void Replica::tell(ReplicaListener* listener) {
  listener_ = listener;
  if (!listener || !prefixes_.path().shared()) return;
  for (int pool = 0; pool < cache_.channels(); ++pool) cache_.held_blocks(pool).follow();
}

void Replica::tell_waiting(Seconds now) {
  if (listener_) listener_->waiting(static_cast<std::int64_t>(waiting_.size() + overlooked_.size()), now);
}

// Pools of channels are one cache to whoever listens. How far an answer is published while it is written
// hangs on who looked for it when (write_up): of a request that runs its prompt alone is told.
void Replica::tell_kept(Seconds now) {
  listener_->used(cache_.used(), now);
  for (int pool = 0; pool < cache_.channels(); ++pool) {
    std::vector<std::int32_t>& changed = cache_.held_blocks(pool).changed();
    std::ranges::sort(changed);
    changed.erase(std::ranges::unique(changed).begin(), changed.end());
    for (const std::int32_t text : changed) {
      std::int64_t end = 0;
      for (int other = 0; other < cache_.channels(); ++other)
        end = std::max(end, cache_.held_blocks(other).end_of_text(text));
      const RequestRecord& record = recorder_.record(text);
      if (record.finished < Seconds(0))
        end = std::min(end, record.request.input_tokens / cache_.block_tokens());
      listener_->kept(text, end, now);
    }
    changed.clear();
  }
}

}  // namespace weir
