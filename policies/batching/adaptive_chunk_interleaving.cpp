// L3 (arXiv 2504.17584), Section 5.3: decodes are parted into two sub-batches of nearly equal contexts, one
// of which is attended to by the PIM while the GPU is at the other; prompts join a sub-batch until its time
// on the GPU is the other's on the PIM, the last of them cut in a chunk of so many times 16 tokens that they
// come closest. What is left of it comes first in the next step. Beyond the paper: where decodes alone keep
// the GPU longer than the PIM no bubble is there to fill, and by those rules no prompt would ever join, so a
// sub-batch takes some of them all the same; and a step may be one batch where that is shorter.
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <stdexcept>

#include "policies/batching/batch_builder.h"
#include "policies/batching/decode_halves.h"
#include "policies/batching/sequences_by_name.h"

namespace weir {
namespace {

constexpr std::int64_t tile = 16;  // tokens (Section 5.3, step 4)

// One of the two as it is filled. Decodes and prompts of the GPU's own memory are nothing to the PIM.
struct SubBatch {
  std::vector<PrefillChunk> chunks;
  std::vector<DecodeContext> away, own;
  std::int64_t prompt_tokens = 0, stored_tokens = 0, context_sum = 0;

  std::int64_t decodes() const { return std::ssize(away) + std::ssize(own); }
};

class Filler {
 public:
  Filler(const StepTimes& times, SubBatch& filled, const SubBatch& other, int spare_channel)
      : times_(times), in_(filled), other_(other), spare_channel_(spare_channel) {}

  bool full() const { return excess() >= Seconds(0); }

  // Takes the multiple of 16 of the prompt's tokens (or all of them) that comes closest to the PIM's time.
  std::int64_t closest(const PrefillChunk& prompt) {
    std::int64_t low = 0,
                 high = (prompt.tokens + tile - 1) / tile;  // in tiles: not too long; too long, or all
    const auto tokens = [&](std::int64_t tiles) { return std::min(tiles * tile, prompt.tokens); };
    const auto excess_of = [&](std::int64_t tiles) {
      add({tokens(tiles), prompt.context, prompt.channel});
      const Seconds found = excess();
      remove_last();
      return found;
    };
    if (excess_of(high) < Seconds(0)) return prompt.tokens;
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      (excess_of(middle) < Seconds(0) ? low : high) = middle;
    }
    if (low == 0) return tokens(high);
    return tokens(-1. * excess_of(low) < excess_of(high) ? low : high);
  }

  void add(const PrefillChunk& chunk) {
    in_.chunks.push_back(chunk);
    in_.prompt_tokens += chunk.tokens;
    if (chunk.channel != spare_channel_) in_.stored_tokens += chunk.tokens;
  }

 private:
  void remove_last() {
    const PrefillChunk chunk = in_.chunks.back();
    in_.chunks.pop_back();
    in_.prompt_tokens -= chunk.tokens;
    if (chunk.channel != spare_channel_) in_.stored_tokens -= chunk.tokens;
  }

  // The GPU's time less the PIM's beside it.
  Seconds excess() const {
    return times_.prefill_attention(in_.chunks) + times_.batched(in_.prompt_tokens, in_.decodes()) +
           times_.decode_attention(in_.own) -
           times_.offloaded({std::ssize(other_.away), other_.context_sum, in_.stored_tokens, other_.away});
  }

  const StepTimes& times_;
  SubBatch& in_;
  const SubBatch& other_;
  int spare_channel_;
};

class AdaptiveChunkInterleaving final : public LimitedBatching {
 public:
  AdaptiveChunkInterleaving(const BatchLimits& limits, Predictor predictor, std::int64_t min_prompt_tokens,
                            Interleaving interleaving)
      : LimitedBatching(limits),
        predictor_(predictor),
        min_prompt_tokens_(min_prompt_tokens),
        interleaving_(interleaving) {}

  bool interleaves() const override { return true; }
  Predictor predictor() const override { return predictor_; }

  void next(const ServingView& view, Batch& batch) const override {
    if (!view.times)
      throw std::logic_error("adaptive_chunk_interleaving is asked without the times of steps");
    BatchBuilder builder(view, limits_, view.admission, batch);
    builder.run_decodes();
    SubBatch halves[2];
    part_decodes(view, batch);
    SequencesByName sequences(view);
    for (const Slice& slice : batch.slices) {
      const SequenceView& sequence = sequences[slice.request];
      if (sequence.elsewhere) continue;
      SubBatch& half = halves[slice.sub_batch];
      const bool own = sequence.channel == view.spare_channel;
      (own ? half.own : half.away).push_back({sequence.known_tokens, sequence.channel});
      if (!own) half.context_sum += sequence.known_tokens;
    }
    for (const std::size_t half : {std::size_t{1}, std::size_t{0}}) {
      const std::size_t first = batch.slices.size();
      fill(view, builder, *view.times, halves[half], halves[1 - half]);
      for (std::size_t i = first; i < batch.slices.size(); ++i)
        batch.slices[i].sub_batch = static_cast<std::int8_t>(half);
    }
    if (halves[0].decodes() + halves[0].prompt_tokens > 0 &&
        halves[1].decodes() + halves[1].prompt_tokens > 0)
      batch.interleaving = interleaving_;
    else
      for (Slice& slice : batch.slices) slice.sub_batch = 0;
  }

 private:
  void fill(const ServingView& view, BatchBuilder& builder, const StepTimes& times, SubBatch& filled,
            const SubBatch& other) const;

  Predictor predictor_;
  std::int64_t min_prompt_tokens_;
  Interleaving interleaving_;  // of a step that has two
};

// The prompt that was cut comes first, then those that wait; nobody behind one that is cut now.
void AdaptiveChunkInterleaving::fill(const ServingView& view, BatchBuilder& builder, const StepTimes& times,
                                     SubBatch& filled, const SubBatch& other) const {
  Filler filler(times, filled, other, view.spare_channel);
  // As much of it as joins now: tokens, context, channel.
  const auto wanted = [&](const SequenceView& prompt) {
    PrefillChunk chunk{std::min(prompt.pending(), builder.tokens_left()), prompt.computed_tokens,
                       prompt.channel};
    const std::int64_t least = min_prompt_tokens_ - filled.prompt_tokens;
    const std::int64_t fill = chunk.tokens <= least || filler.full() ? 0 : filler.closest(chunk);
    chunk.tokens = std::min(chunk.tokens, std::max(least, fill));
    return chunk;
  };
  while (const SequenceView* prompt = builder.full() ? nullptr : builder.unfinished_prompt()) {
    const PrefillChunk chunk = wanted(*prompt);
    if (chunk.tokens <= 0 || !builder.continue_prompt(chunk.tokens)) return;
    filler.add(chunk);
    if (chunk.tokens < prompt->pending()) return;
  }
  while (const SequenceView* head = builder.head()) {
    if (head->elsewhere) {
      const std::int64_t tokens = std::min(head->pending(), builder.tokens_left());
      if (tokens <= 0 || !builder.add(*head, tokens)) return;
      continue;
    }
    const PrefillChunk chunk = wanted(*head);
    if (chunk.tokens <= 0 || !builder.add(*head, chunk.tokens)) return;
    filler.add(chunk);
    if (chunk.tokens < head->pending()) return;
  }
}

}  // namespace

std::shared_ptr<const BatchingPolicy> make_adaptive_chunk_interleaving(Params& params) {
  const BatchLimits limits = BatchLimits::from(params);
  const auto predictor = params.choice<Predictor>(
      {"predictor",
       "How long parts of a step are expected to take: exact asks the kernels; learned is a line for the PIM "
       "and random forests for the GPU, trained on the run so far."},
      {{"exact", Predictor::exact}, {"learned", Predictor::learned}}, "exact");
  const std::int64_t least = params.integer(
      {"min_prompt_tokens",
       "Tokens of prompts that a sub-batch takes even where they are no bubble's: without them a GPU that is "
       "busy with decodes would never begin one. More: batches grow faster, tokens come later."},
      {1, 1 << 30}, 256);  // the next power of two to where an A100's matrices are no longer bound by memory
  const auto interleaving = params.choice<Interleaving>(
      {"interleave",
       "Two sub-batches side by side; or whichever is shorter, those or the batch as a whole: a small one "
       "would read the weights twice."},
      {{"on", Interleaving::two}, {"best", Interleaving::two_if_faster}}, "best");
  return std::make_shared<AdaptiveChunkInterleaving>(limits, predictor, least, interleaving);
}

}  // namespace weir
