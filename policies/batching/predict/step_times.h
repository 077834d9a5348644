#pragma once
// How long the parts of a sub-batch are expected to take, before anything is decided: asked by the batching
// policies that fit the work of one device under that of another (L3, Section 5.3). The engine puts one into
// ServingView; it has two kinds: exact (it asks the kernels that the step will be made of) and learned
// (learned_times.h). All are of every layer of one pipeline stage, alone.
#include <cstdint>
#include <optional>
#include <span>

#include "models/machine/batch_shape.h"
#include "sim/core/units.h"

namespace weir {

// Work of a sub-batch away from the GPU: its decodes' attention, their Q, K, V and results on the way, and
// the keys and values of the other sub-batch's prompts, which are stored meanwhile.
struct OffloadedWork {
  std::int64_t decodes = 0;
  std::int64_t context_sum = 0;                  // tokens they attend to
  std::int64_t prompt_tokens = 0;                // stored
  std::span<const DecodeContext> contexts = {};  // one a decode: for whom the sums are not enough
};

// Mean relative errors (RE of Section 6.3) in %. Absent where nothing has been predicted.
struct PredictionErrors {
  std::optional<double> prefill_attention, batched, offloaded, decode_attention = {};
};

class StepTimes {
 public:
  virtual ~StepTimes() = default;
  virtual Seconds prefill_attention(
      std::span<const PrefillChunk> chunks) const = 0;  // t_p of Equations 1 and 3
  // t_batch: everything that is computed for all tokens of a sub-batch together.
  virtual Seconds batched(std::int64_t prompt_tokens, std::int64_t decodes) const = 0;
  virtual Seconds offloaded(const OffloadedWork& work) const = 0;  // T_PIM of Equations 2 and 4
  // Attention of decodes whose KV cache lies in the GPU's own memory beside its host's.
  virtual Seconds decode_attention(std::span<const DecodeContext> own) const = 0;
  // The sub-batches of a step with prompts that is over: one, or two side by side. For those that learn.
  virtual void observe(std::span<const BatchShape> /*sub_batches*/) {}
  virtual PredictionErrors errors() const { return {}; }
};

}  // namespace weir
