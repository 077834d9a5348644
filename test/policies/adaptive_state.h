#pragma once
// What adaptive_chunk_interleaving is asked about, written down: who runs, who waits, how long steps take.
#include <map>

#include "test/policies/naive_engine.h"
#include "test/policies/slices.h"

namespace weir::test {

constexpr std::int64_t many = 1 << 30;

// A GPU whose time grows with every token, and more than storing it takes; a memory of several channels, the
// fullest of which is waited for.
class Times final : public StepTimes {
 public:
  double row = 1, pair = 1e-4, stored = 0.1, attended = 0.02, read = 0.005, weights = 0;
  Seconds prefill_attention(std::span<const PrefillChunk> chunks) const override {
    double sum = 0;
    for (const PrefillChunk& c : chunks)
      sum += pair * static_cast<double>(c.tokens) * static_cast<double>(c.context + c.tokens / 2);
    return Seconds(sum);
  }
  Seconds batched(std::int64_t prompt_tokens, std::int64_t decodes) const override {
    return Seconds(weights + row * static_cast<double>(prompt_tokens + decodes));
  }
  Seconds offloaded(const OffloadedWork& work) const override {
    std::map<int, double> tokens{{0, 0}};
    for (const DecodeContext& context : work.contexts)
      tokens[context.channel] += static_cast<double>(context.tokens);
    double most = 0;
    for (const auto& [channel, sum] : tokens) most = std::max(most, sum);
    return Seconds(attended * most + stored * static_cast<double>(work.prompt_tokens));
  }
  Seconds decode_attention(std::span<const DecodeContext> own) const override {
    double tokens = 0;
    for (const DecodeContext& decode : own) tokens += static_cast<double>(decode.tokens);
    return Seconds(read * tokens);
  }
};

inline SequenceView decode(std::int64_t tokens, int channel) {
  SequenceView view{tokens - 1, 1000, tokens, tokens - 1, (tokens - 1 + 15) / 16, false, 0, tokens - 1};
  view.channel = static_cast<std::int16_t>(channel);
  return view;
}
inline SequenceView prompt(std::int64_t tokens, std::int64_t computed = 0) {
  return {tokens, 1000, tokens, computed, (computed + 15) / 16, false, 0, tokens};
}

struct State {
  std::vector<SequenceView> running, waiting;
  Times times;
  std::int64_t min_prompt_tokens = 1, max_requests = 100000, max_tokens = 1 << 20, blocks = many;
  Batch next() const {
    Batch batch;
    const std::vector<std::int64_t> free{blocks};
    const std::vector<int> pools(64, 0);  // all channels together
    std::vector<SequenceView> run = running, wait = waiting;
    number(run, wait);
    make_policy("adaptive_chunk_interleaving", max_requests, max_tokens,
                {{"min_prompt_tokens", min_prompt_tokens}})
        ->next({run, wait, free, many, 16, Admission::chunk, 1, &times, pools}, batch);
    return batch;
  }
  const SequenceView& of(const Slice& slice) const {
    const auto i = static_cast<std::size_t>(slice.request);
    return i < running.size() ? running[i] : waiting[i - running.size()];
  }
};

inline std::vector<SequenceView> random_decodes(Dice& dice, std::int64_t most, int channels) {
  std::vector<SequenceView> running;
  const std::int64_t longest = dice(1, dice(0, 1) ? 30000 : 12);  // many equal ones, too
  for (std::int64_t i = dice(1, most); i > 0; --i)
    running.push_back(
        decode(dice(0, 3) ? dice(1, longest) : longest, static_cast<int>(dice(0, channels - 1))));
  return running;
}

}  // namespace weir::test
