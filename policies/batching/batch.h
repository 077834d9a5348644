#pragma once
// A batching policy's decision: whom the next iteration computes, and who runs, waits and moves for it.
// Requests go by the names that their SequenceView has. The engine carries out whatever is named and refuses,
// with std::logic_error, what cannot be.
#include <cstdint>
#include <vector>

#include "policies/validity.h"

namespace weir {

struct Slice {  // of a request that runs, or is admitted
  std::int32_t request;
  std::int64_t tokens;        // >= 1
  std::int8_t sub_batch = 0;  // 0 or 1, where the batch is interleaved
};

// KV caches lie in the memory whose channels a placement policy deals out, or in one beside it that has room
// to spare: the GPU's own beside its host's.
enum class KvMemory { dealt, spare };

// The KV cache of a running request goes over to the other memory. In a host's it is before the step begins;
// the way back to the GPU takes its time. The request has no slice.
struct Move {
  std::int32_t request;
  KvMemory to;
};

// Whether a batch is one, or two whose operators are independent chains (NeuPIMs, Section 6.2): always, or
// where that step is the shorter one.
enum class Interleaving { none, two, two_if_faster };

struct Batch {                // reused by the caller, to save allocations
  std::vector<Slice> slices;  // empty: nothing can be done until something changes
  // Waiting requests that run from now on, in that order; `static` leaves some without a slice yet.
  std::vector<std::int32_t> admitted;
  // Running requests that wait from now on, without blocks, each in front of those before it. A chunk of
  // theirs that is in flight is dropped when it comes back.
  std::vector<std::int32_t> preempted;
  std::vector<Move> moves;
  // Longer than this step only for batches of decodes with nothing to admit: the engine may fast-forward.
  // With several pipeline stages: when this batch comes back, provided those in flight then hold on as well.
  Validity valid;
  Interleaving interleaving = Interleaving::none;
  // The reasons, for a trace; nothing that is done hangs on them. Of each that is preempted: the one that
  // lacked so many blocks then, or a seat. -1: all that run.
  struct GaveWay {
    std::int32_t request, to;
    std::int64_t blocks;  // 0: a seat
  };
  std::vector<GaveWay> gave_way;
  std::int64_t lacking = 0;  // blocks, to the request that valid.wakes_on.lacks_blocks names

  void clear() {
    slices.clear();
    admitted.clear();
    preempted.clear();
    moves.clear();
    valid = {};
    interleaving = Interleaving::none;
    gave_way.clear();
    lacking = 0;
  }
};

}  // namespace weir
