#pragma once
// A moment of a replica written down by hand, for what batching policies decide there. Blocks are of 4
// tokens.
#include "test/policies/naive_engine.h"
#include "test/policies/slices.h"

namespace weir::test {

using Names = std::vector<std::int32_t>;
using Tokens = std::vector<std::int64_t>;

inline SequenceView new_prompt(std::int64_t input, std::int64_t output, std::int32_t priority = 0,
                               std::int16_t channel = 0) {
  SequenceView view{input, output, input, 0, 0, false, priority, input};
  view.channel = channel;
  return view;
}

// All but the last of its `known` tokens are computed.
inline SequenceView one_decode(std::int64_t input, std::int64_t output, std::int64_t known,
                               std::int32_t priority = 0, std::int16_t channel = 0) {
  SequenceView view{input, output, known, known - 1, (known - 1 + 3) / 4, false, priority, input};
  view.channel = channel;
  return view;
}

// Names are places: those that run, then those that wait.
struct Moment {
  std::vector<SequenceView> running = {}, waiting = {};
  std::vector<std::int64_t> free = {100};
  std::int64_t seats = 8, tokens = 64;
  Admission admission = Admission::chunk;
  std::int64_t leaving = 0, drafts = 0;
  std::vector<int> pools = {};
  std::vector<std::int32_t> order = {};
  int spare_channel = -1;
  Prefixes* prefixes = nullptr;
  const StepTimes* times = nullptr;

  Batch decided(const std::string& kind, const Json& keys = Json::object()) const {
    std::vector<SequenceView> run = running, wait = waiting;
    number(run, wait);
    Batch batch;
    make_policy(kind, seats, tokens, keys)
        ->next({.running = run,
                .waiting = wait,
                .free_blocks = free,
                .total_blocks = 1000,
                .block_tokens = 4,
                .admission = admission,
                .pipeline_stages = 1,
                .times = times,
                .pools = pools,
                .spare_channel = spare_channel,
                .leaving = leaving,
                .drafts = drafts,
                .prefixes = prefixes,
                .order = order},
               batch);
    return batch;
  }
};

inline std::vector<int> halves_of(const Batch& batch) {
  std::vector<int> halves;
  for (const Slice& slice : batch.slices) halves.push_back(slice.sub_batch);
  return halves;
}

}  // namespace weir::test
