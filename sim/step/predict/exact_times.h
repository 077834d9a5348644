#pragma once
// Times of a sub-batch's parts that a scheduler is told by the kernels themselves: each operator alone, one
// after the other on its unit, with nothing beside it. A replica whose batching policy has an exact predictor
// owns one.
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "policies/batching/predict/step_times.h"
#include "sim/step/cost/step_cost.h"
#include "sim/step/rank.h"

namespace weir {

class ExactTimes final : public StepTimes {
 public:
  ExactTimes(const Rank& rank, const StageGraph& placed);

  Seconds prefill_attention(std::span<const PrefillChunk> chunks) const override;
  Seconds batched(std::int64_t prompt_tokens, std::int64_t decodes) const override;
  // Where the contexts are not given they lie evenly over the channels.
  Seconds offloaded(const OffloadedWork& work) const override;
  Seconds decode_attention(std::span<const DecodeContext> own) const override;
  int spare_channel() const { return spare_channel_; }

 private:
  struct Placed {
    Operator op;
    double times;  // a step
  };
  Rank rank_;
  int placed_channels_, spare_channel_;
  std::vector<Placed> by_rows_, attention_, offloaded_;
  mutable std::vector<DecodeContext> contexts_;  // scratch
  // Policies ask for the same ones again and again, and matrices are most of a question's price.
  mutable std::map<std::pair<std::int64_t, std::int64_t>, Seconds> batched_;
};

}  // namespace weir
