#include "sim/serving/routing/sent_prompts.h"

#include <algorithm>

namespace weir {

void SentPrompts::unlink(Replica& replica, std::int32_t entry) {
  const Seen& seen = table_[entry].value;
  (seen.newer < 0 ? replica.newest : table_[seen.newer].value.older) = seen.older;
  (seen.older < 0 ? replica.oldest : table_[seen.older].value.newer) = seen.newer;
}

void SentPrompts::make_newest(Replica& replica, std::int32_t entry) {
  Seen& seen = table_[entry].value;
  seen.newer = -1;
  seen.older = replica.newest;
  (seen.older < 0 ? replica.oldest : table_[seen.older].value.newer) = entry;
  replica.newest = entry;
}

// Beginnings are newer than what is behind them.
void SentPrompts::add(std::int32_t replica, std::span<const TextBlocks> prompt) {
  const auto at = static_cast<std::size_t>(replica);
  if (at >= replicas_.size()) replicas_.resize(at + 1);
  Replica& of = replicas_[at];
  for (auto part = prompt.rbegin(); part != prompt.rend(); ++part) {
    std::int32_t entry = table_.find(part->text, replica);
    if (entry < 0) entry = table_.add(part->text, replica);
    Seen& seen = table_[entry].value;
    if (seen.last > 0)
      unlink(of, entry);
    else
      seen.first = seen.last = part->first;
    of.tokens += std::max<std::int64_t>(0, part->last - seen.last);
    seen.last = std::max(seen.last, part->last);
    make_newest(of, entry);
  }
  while (of.tokens > most_tokens_) {
    const std::int32_t entry = of.oldest;
    of.tokens -= table_[entry].value.last - table_[entry].value.first;
    unlink(of, entry);
    table_.erase(entry);
  }
}

}  // namespace weir
