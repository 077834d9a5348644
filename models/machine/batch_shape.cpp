#include "models/machine/batch_shape.h"

#include <algorithm>
#include <utility>

namespace weir {

BatchShape in_lockstep(std::span<const BatchShape> ranks) {
  BatchShape all = *std::ranges::max_element(
      ranks, {}, [](const BatchShape& rank) { return std::pair(rank.prefill_tokens, rank.rows()); });
  const bool prompts = all.prefill_tokens > 0;
  std::int64_t most_rows = 0, rows = 0;
  for (const BatchShape& rank : ranks) {
    most_rows = std::max(most_rows, rank.rows());
    rows += rank.rows();
    all.sequences = std::max(all.sequences, rank.sequences);
  }
  all.padding += most_rows - all.rows();
  all.ranks = ranks;
  all.routed = prompts ? rows : static_cast<std::int64_t>(ranks.size()) * most_rows;
  return all;
}

}  // namespace weir
