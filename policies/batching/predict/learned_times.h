#pragma once
// Step times as L3's scheduler learns them (Section 5.3, Equations 5 and 6): a linear model of what is
// offloaded, random forests of what the GPU does, trained on the run's own newest batches. A pure function of
// what it was told: one thread, no clock, the same bytes on every run.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "policies/batching/predict/step_times.h"

namespace weir {

// Which batches are learned from, and when. On 1,000 of them a forest trains in 11 ms (batched) or 21 ms
// (prefill attention), the line in 0.1 ms: with these numbers 8 us a batch in a long run.
struct Training {
  std::size_t batches = 1000;  // the newest of each operation; Section 6.3 profiles as many
  std::size_t enough = 100;    // before the first training. ESTIMATE: "a sufficient amount", Section 5.3
  // A model is trained anew after so many more, or as many as it had seen, whichever are fewer. ESTIMATE:
  // for the price above, below that of a played step of two sub-batches (35 us, docs/performance.md).
  std::size_t renewal = 4000;
};

class LearnedTimes final : public StepTimes {
 public:
  explicit LearnedTimes(const Training& training);  // std::invalid_argument where a number is none
  ~LearnedTimes() override;

  // The models of what every run has, the first three, have seen enough; or the fourth has. Until then there
  // is nothing to answer with, and the caller asks exact times: a prediction by an untrained model throws
  // std::logic_error. Nothing to do takes no time, trained or not. Forests know no longer times than those
  // they saw; the line goes on, below zero too.
  bool trained() const;
  bool trained_on_own_decodes() const;
  std::string lacking() const;  // batches that the first three have not seen yet, in words; "" once trained
  Seconds prefill_attention(std::span<const PrefillChunk> chunks) const override;
  Seconds batched(std::int64_t prompt_tokens, std::int64_t decodes) const override;
  Seconds offloaded(const OffloadedWork& work) const override;
  Seconds decode_attention(std::span<const DecodeContext> own) const override;

  // A measured time. Nothing to do is no sample; anything else takes some time, or std::invalid_argument.
  void observe_prefill_attention(std::span<const PrefillChunk> chunks, Seconds took);
  void observe_batched(std::int64_t prompt_tokens, std::int64_t decodes, Seconds took);
  void observe_offloaded(const OffloadedWork& work, Seconds took);
  void observe_decode_attention(std::span<const DecodeContext> own, Seconds took);

  // Errors over all observations so far, each predicted by the model that had not seen it yet.
  PredictionErrors errors() const override;
  // Section 6.3's experiment on the batches now learned from: 80 % of them, dealt by the seed, train models
  // of their own, and the rest is predicted.
  PredictionErrors held_out_errors(std::uint64_t seed) const;

 private:
  struct Models;
  std::unique_ptr<Models> models_;
};

}  // namespace weir
