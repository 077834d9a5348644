#include "sim/serving/replica/two_batches.h"

namespace weir {
namespace {

std::size_t chunks_of(const BatchShape& whole) {
  std::size_t chunks = whole.ranks.empty() ? whole.prefill.size() : 0;
  for (const BatchShape& rank : whole.ranks) chunks += rank.prefill.size();
  return chunks;
}

// Long and short decodes are in both halves alike: the sum of contexts parts as they do.
void cut_decodes(const BatchShape& whole, std::array<BatchShape, 2>& halves) {
  for (BatchShape& half : halves) {
    const bool second = &half == &halves[1];
    half.decodes = second ? whole.decodes / 2 : whole.decodes - whole.decodes / 2;
    half.decode_context_sum =
        second ? whole.decode_context_sum - halves[0].decode_context_sum
               : whole.decode_context_sum - whole.decode_context_sum * (whole.decodes / 2) /
                                                std::max<std::int64_t>(1, whole.decodes);
    half.decode_context_max = half.decodes > 0 ? whole.decode_context_max : 0;
    half.decode_rows = whole.decode_rows;
    half.sequences = half.decodes;
    half.beside_another = true;
  }
}

}  // namespace

// The last token of each prompt is in the second half.
void TwoBatches::cut(const BatchShape& whole, std::array<BatchShape, 2>& halves) {
  halves = {};
  cut_decodes(whole, halves);
  halves[1].sequences += whole.sequences - whole.decodes;
  const std::array firsts{chunks_[0].size(), chunks_[1].size()};
  for (const PrefillChunk& chunk : whole.prefill) {
    const std::int64_t second = (chunk.tokens + 1) / 2, first = chunk.tokens - second;
    if (first > 0) chunks_[0].push_back({first, chunk.context});
    chunks_[1].push_back({second, chunk.context + first});
    halves[0].prefill_tokens += first;
    halves[1].prefill_tokens += second;
  }
  for (std::size_t h = 0; h < 2; ++h) halves[h].prefill = std::span(chunks_[h]).subspan(firsts[h]);
}

std::span<const BatchShape> TwoBatches::cut(const BatchShape& whole) {
  if (whole.rows() < 2) return {};
  for (std::size_t h = 0; h < 2; ++h) {
    chunks_[h].clear();
    chunks_[h].reserve(chunks_of(whole));  // shapes point to them
    ranks_[h].clear();
  }
  if (whole.ranks.empty()) {
    cut(whole, halves_);
    return halves_;
  }
  for (const BatchShape& rank : whole.ranks) {
    cut(rank, halves_);
    for (std::size_t h = 0; h < 2; ++h) ranks_[h].push_back(halves_[h]);
  }
  for (std::size_t h = 0; h < 2; ++h) halves_[h] = in_lockstep(ranks_[h]);
  return halves_;
}

}  // namespace weir
