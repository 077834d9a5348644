#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "policies/batching/batch.h"
#include "sim/serving/kv/kv_move.h"
#include "sim/serving/replica/two_batches.h"
#include "sim/step/step_model.h"

namespace weir {

// A batch on its way through the pipeline.
struct Iteration {
  // A shape points to these.
  struct Parts {
    std::vector<PrefillChunk> chunks;
    std::vector<DecodeContext> contexts;  // only where the KV cache has several channels
  };
  BatchShape shape;
  Parts parts;
  std::vector<BatchShape> sub_batches;  // of the same slices: two, or none
  std::array<Parts, 2> sub_batch_parts;
  Interleaving interleaving = Interleaving::none;
  struct Member {
    std::int32_t request;
    bool yields;          // a token when the iteration ends: a decode, or a prompt's last chunk
    bool prompt = false;  // it has the next of the chunks
  };
  std::vector<Member> members;
  std::vector<KvMove> moves;  // to be started before it
  std::int64_t number = 0;    // that its first step has, counted from 1
  std::int64_t steps = 1;     // for which its decision and the placement of those who wait are valid
  // Where decodes verify drafts, of a run that begins with this step (longest_run): what they attend to in
  // the steps after it, and the tokens that all have by the end of each.
  std::vector<DecodeContexts> later;
  std::vector<std::int64_t> given;
  // Iterations of the replica's attention-data ranks, where there are several: members and moves are those of
  // all, and the shape is what they run in lockstep (AttentionRanks).
  std::vector<Iteration> ranks;
  std::vector<BatchShape> rank_shapes;  // to which the shape points
  TwoBatches halves;                    // to which sub-batches do, where engines cut every batch

  StepWork work() const { return {shape, sub_batches, interleaving == Interleaving::two_if_faster, later}; }
  std::int64_t given_by(std::int64_t run) const;  // by the decodes of its first so many steps
  void clear();
};

}  // namespace weir
