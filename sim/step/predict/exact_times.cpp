#include "sim/step/predict/exact_times.h"

#include <algorithm>
#include <numeric>

namespace weir {

ExactTimes::ExactTimes(const Rank& rank, const StageGraph& placed)
    : rank_(rank), placed_channels_(rank.placed_channels()), spare_channel_(rank.spare_channel()) {
  for_each_operator(placed, [this](const Operator& op, double times) {
    auto& ops = !follows_contexts(op)                ? by_rows_
                : op.kind() == KernelKind::attention ? attention_
                                                     : offloaded_;
    ops.push_back({op, times});
  });
}

Seconds ExactTimes::prefill_attention(std::span<const PrefillChunk> chunks) const {
  BatchShape batch;
  batch.prefill = chunks;
  for (const PrefillChunk& chunk : chunks) batch.prefill_tokens += chunk.tokens;
  Seconds sum(0);
  for (const auto& [op, times] : attention_) sum += times * rank_.cost(op, batch).time;
  return sum;
}

Seconds ExactTimes::decode_attention(std::span<const DecodeContext> own) const {
  BatchShape batch;
  batch.contexts = own;
  batch.decodes = std::ssize(own);
  for (const DecodeContext& decode : own) {
    batch.decode_context_sum += decode.tokens;
    batch.decode_context_max = std::max(batch.decode_context_max, decode.tokens);
  }
  Seconds sum(0);
  if (own.empty()) return sum;
  for (const auto& [op, times] : attention_) sum += times * rank_.cost(op, batch).time;
  return sum;
}

// Prompts count as not ending: one row of the LM head is nothing beside the layers.
Seconds ExactTimes::batched(std::int64_t prompt_tokens, std::int64_t decodes) const {
  constexpr std::size_t most_kept = 1 << 16;
  if (batched_.size() == most_kept) batched_.clear();
  const auto [known, is_new] = batched_.try_emplace({prompt_tokens, decodes}, 0);
  if (!is_new) return known->second;
  BatchShape batch;
  batch.prefill_tokens = prompt_tokens;
  batch.decodes = batch.sequences = decodes;
  Seconds sum(0);
  for (const auto& [op, times] : by_rows_) sum += times * rank_.cost(op, batch).time;
  return known->second = sum;
}

Seconds ExactTimes::offloaded(const OffloadedWork& work) const {
  const int channels = placed_channels_;
  BatchShape batch;
  batch.decodes = work.decodes;
  batch.decode_context_sum = work.context_sum;
  batch.contexts = work.contexts;
  if (work.contexts.empty() && work.decodes > 0) {
    contexts_.resize(static_cast<std::size_t>(work.decodes));
    for (std::size_t i = 0; i < contexts_.size(); ++i)
      contexts_[i] = {work.context_sum / work.decodes, static_cast<int>(i) % channels};
    batch.contexts = contexts_;
  }
  std::vector<Seconds> by_channel(static_cast<std::size_t>(channels));
  Seconds all(0);
  for (const auto& [op, times] : offloaded_) {
    const PrefillChunk stored{work.prompt_tokens, 0, op.channels.first};
    batch.prefill = {&stored, 1};
    const Seconds time = times * rank_.cost(op, batch).time;
    // A prompt goes to one channel a layer, whichever: a share of each.
    const bool stores = op.rows == Rows::prompt_tokens;
    if (!op.each_member || op.share < 1)  // of members that do alike, one
      all += op.each_member ? time / channels : time;
    else
      by_channel[static_cast<std::size_t>(op.channels.first)] += stores ? time / channels : time;
  }
  return all + *std::ranges::max_element(by_channel);
}

}  // namespace weir
