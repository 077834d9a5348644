// L3 (arXiv 2504.17584), Section 5.3: decodes are parted into two sub-batches of nearly equal contexts, one
// of which is attended to by the PIM while the GPU is at the other; prompts join a sub-batch until its time
// on the GPU is the other's on the PIM, the last of them cut in a chunk of so many times 16 tokens that they
// come closest. What is left of it comes first in the next step. Beyond the paper: where decodes alone keep
// the GPU longer than the PIM no bubble is there to fill, and by those rules no prompt would ever join, so a
// sub-batch takes some of them all the same; and a step may be one batch where that is shorter.
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <stdexcept>

#include "policies/batching/decode_halves.h"
#include "policies/batching/step.h"

namespace weir {
namespace {

constexpr std::int64_t tile = 16;  // tokens (Section 5.3, step 4)

// What is in one of the two so far.
struct SubBatch {
  std::vector<PrefillChunk> chunks;
  std::vector<DecodeContext> contexts;
  std::int64_t prompt_tokens = 0, context_sum = 0;

  std::int64_t decodes() const { return std::ssize(contexts); }
};

class Filler {
 public:
  Filler(const StepTimes& times, SubBatch& filled, const SubBatch& other)
      : times_(times), in_(filled), other_(other) {}

  // The GPU's time with so many tokens of one prompt more, less the PIM's beside it.
  Seconds excess(std::int64_t tokens, std::int64_t context) {
    in_.chunks.push_back({tokens, context});
    const std::int64_t prompt_tokens = in_.prompt_tokens + tokens;
    const Seconds gpu = times_.prefill_attention(in_.chunks) + times_.batched(prompt_tokens, in_.decodes());
    in_.chunks.pop_back();
    return gpu - times_.offloaded({other_.decodes(), other_.context_sum, prompt_tokens, other_.contexts});
  }

  bool full() const { return gpu() >= pim(); }

  // Of at most `most` tokens the multiple of 16 (or all of them) that comes closest to the PIM's time.
  std::int64_t closest(std::int64_t most, std::int64_t context) {
    std::int64_t low = 0, high = (most + tile - 1) / tile;  // in tiles: not too long; too long, or all
    const auto tokens = [&](std::int64_t tiles) { return std::min(tiles * tile, most); };
    if (excess(most, context) < Seconds(0)) return most;
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      (excess(tokens(middle), context) < Seconds(0) ? low : high) = middle;
    }
    if (low == 0) return tokens(high);
    const Seconds over = excess(tokens(high), context), under = -1. * excess(tokens(low), context);
    return tokens(under < over ? low : high);
  }

  void add(std::int64_t tokens, std::int64_t context) {
    in_.chunks.push_back({tokens, context});
    in_.prompt_tokens += tokens;
  }

 private:
  Seconds gpu() const {
    return times_.prefill_attention(in_.chunks) + times_.batched(in_.prompt_tokens, in_.decodes());
  }
  Seconds pim() const {
    return times_.offloaded({other_.decodes(), other_.context_sum, in_.prompt_tokens, other_.contexts});
  }

  const StepTimes& times_;
  SubBatch& in_;
  const SubBatch& other_;
};

class AdaptiveChunkInterleaving final : public LimitedBatching {
 public:
  AdaptiveChunkInterleaving(const BatchLimits& limits, Predictor predictor, std::int64_t min_prompt_tokens,
                            bool best)
      : LimitedBatching(limits), predictor_(predictor), min_prompt_tokens_(min_prompt_tokens), best_(best) {}

  bool interleaves() const override { return true; }
  Predictor predictor() const override { return predictor_; }

  void next(const ServingView& view, Batch& batch) const override {
    if (!view.times)
      throw std::logic_error("adaptive_chunk_interleaving is asked without the times of steps");
    Step step(view, limits_, view.admission, batch);
    step.run_decodes();
    SubBatch halves[2];
    part_decodes(view, batch);
    for (const Slice& slice : batch.slices) {
      const SequenceView& sequence = view.running[static_cast<std::size_t>(slice.sequence)];
      if (sequence.elsewhere) continue;
      SubBatch& half = halves[slice.sub_batch];
      half.contexts.push_back({sequence.known_tokens, sequence.channel});
      half.context_sum += sequence.known_tokens;
    }
    for (const std::size_t half : {1, 0}) {
      const std::size_t first = batch.slices.size();
      fill(view, step, *view.times, halves[half], halves[1 - half]);
      for (std::size_t i = first; i < batch.slices.size(); ++i)
        batch.slices[i].sub_batch = static_cast<std::int8_t>(half);
    }
    if (halves[0].decodes() + halves[0].prompt_tokens > 0 &&
        halves[1].decodes() + halves[1].prompt_tokens > 0)
      batch.sub_batches = 2, batch.whole_if_faster = best_;
    else
      for (Slice& slice : batch.slices) slice.sub_batch = 0;
  }

 private:
  void fill(const ServingView& view, Step& step, const StepTimes& times, SubBatch& filled,
            const SubBatch& other) const;

  Predictor predictor_;
  std::int64_t min_prompt_tokens_;
  bool best_;
};

// The prompt that was cut comes first, then those that wait; nobody behind one that is cut now.
void AdaptiveChunkInterleaving::fill(const ServingView& view, Step& step, const StepTimes& times,
                                     SubBatch& filled, const SubBatch& other) const {
  Filler filler(times, filled, other);
  const auto wanted = [&](std::int64_t pending, std::int64_t context) {
    const std::int64_t least = min_prompt_tokens_ - filled.prompt_tokens;
    const std::int64_t most = std::min(pending, step.tokens_left());
    return std::min(most, std::max(least, filler.full() ? 0 : filler.closest(most, context)));
  };
  for (; step.unfinished_prompt() >= 0 && !step.full();) {
    const SequenceView& prompt = view.running[static_cast<std::size_t>(step.unfinished_prompt())];
    const std::int64_t tokens = wanted(prompt.pending(), prompt.computed_tokens);
    if (tokens <= 0 || !step.continue_prompt(tokens)) return;
    filler.add(tokens, prompt.computed_tokens);
    if (tokens < prompt.pending()) return;
  }
  while (const SequenceView* head = step.head()) {
    const std::int64_t tokens = head->elsewhere ? std::min(head->pending(), step.tokens_left())
                                                : wanted(head->pending(), head->computed_tokens);
    if (tokens <= 0 || !step.add(*head, tokens)) return;
    if (head->elsewhere) continue;
    filler.add(tokens, head->computed_tokens);
    if (tokens < head->pending()) return;
  }
}

}  // namespace

std::shared_ptr<const BatchingPolicy> make_adaptive_chunk_interleaving(Params& params) {
  const BatchLimits limits = BatchLimits::from(params);
  const std::string predictor = params.choice(
      {"predictor",
       "How long parts of a step are expected to take: exact asks the kernels; learned is a line for the PIM "
       "and random forests for the GPU, trained on the run so far."},
      {"exact", "learned"}, "exact");
  const std::int64_t least = params.integer(
      {"min_prompt_tokens",
       "Tokens of prompts that a sub-batch takes even where they are no bubble's: without them a GPU that is "
       "busy with decodes would never begin one. More: batches grow faster, tokens come later."},
      {1, 1 << 30}, 256);  // the next power of two to where an A100's matrices are no longer bound by memory
  const std::string interleave = params.choice(
      {"interleave",
       "Two sub-batches side by side; or whichever is shorter, those or the batch as a whole: a small one "
       "would read the weights twice."},
      {"on", "best"}, "best");
  return std::make_shared<AdaptiveChunkInterleaving>(
      limits, predictor == "learned" ? Predictor::learned : Predictor::exact, least, interleave == "best");
}

}  // namespace weir
