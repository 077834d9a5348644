#pragma once
// Times that a scheduler is told which learns from the run (L3, Section 5.3): exact times until enough was
// seen, then those of models trained on it. What a step measures of its parts are their kernels' times. A
// replica whose batching policy has a learned predictor owns one. Steps without prompts, of which nothing is
// to be decided, teach it nothing: so it is the same whether they are fast-forwarded or not.
#include "policies/batching/predict/learned_times.h"
#include "sim/step/predict/exact_times.h"

namespace weir {

class ProfiledTimes final : public StepTimes {
 public:
  explicit ProfiledTimes(ExactTimes exact) : exact_(std::move(exact)), learned_(Training{}) {}

  Seconds prefill_attention(std::span<const PrefillChunk> chunks) const override {
    return best().prefill_attention(chunks);
  }
  Seconds batched(std::int64_t prompt_tokens, std::int64_t decodes) const override {
    return best().batched(prompt_tokens, decodes);
  }
  Seconds offloaded(const OffloadedWork& work) const override { return best().offloaded(work); }
  Seconds decode_attention(std::span<const DecodeContext> own) const override {
    return learned_.trained_on_own_decodes() ? learned_.decode_attention(own) : exact_.decode_attention(own);
  }

  void observe(std::span<const BatchShape> sub_batches) override;
  PredictionErrors errors() const override { return learned_.errors(); }
  std::string lacking() const { return learned_.lacking(); }  // why exact times are used still

 private:
  std::int64_t stored_tokens(const BatchShape& batch) const;
  const StepTimes& best() const {
    return learned_.trained() ? static_cast<const StepTimes&>(learned_) : exact_;
  }

  ExactTimes exact_;
  LearnedTimes learned_;
};

}  // namespace weir
