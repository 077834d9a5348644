#pragma once
// NEO's choice between two ways to compute a step (MLSys '25, load-aware scheduling; the steps and the 128 as
// in its published scheduler, swiftllm/server/scheduler.py): everything of the GPU's own memory alone, or two
// sub-batches, where decodes with their KV cache in the host's memory join as long as attending to them takes
// no longer than what the GPU does meanwhile. A pure function of what it is given.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "policies/batching/predict/step_times.h"

namespace weir {

struct AsymmetricCandidates {
  int spare_channel = -1;                          // whoever is in it is in the GPU's own memory
  std::vector<PrefillChunk> prompts = {};          // first come, first served
  std::vector<DecodeContext> own = {}, host = {};  // one a decode
  std::int64_t most_host = 0;                      // decodes that a step has room for beside the others
};

struct AsymmetricBatches {
  bool two;             // or the GPU's own alone
  std::size_t prompts;  // from the front: they and the GPU's own decodes are in the first sub-batch
  std::vector<std::int8_t>
      host;  // the sub-batch that each would join, whether or not there are two; -1: none
  bool operator==(const AsymmetricBatches&) const = default;
};

// Some of the candidates are the GPU's own, or prompts.
AsymmetricBatches form_asymmetric_batches(const StepTimes& times, const AsymmetricCandidates& candidates);

}  // namespace weir
