#pragma once
// The attention-data ranks of a replica (`parallelism.attention_data`): each has a scheduler, a queue and a
// KV cache of its own, as vLLM's engine cores and SGLang's data-parallel ranks have, and all take their steps
// together, because they share the experts. To its server this is the replica. One rank is nothing but
// itself.
#include <memory>
#include <vector>

#include "sim/serving/replica/replica.h"

namespace weir {

class AttentionRanks {
 public:
  AttentionRanks(std::vector<std::unique_ptr<Replica>> ranks, Recorder& recorder)
      : ranks_(std::move(ranks)), recorder_(recorder) {}

  int index() const { return ranks_[0]->index(); }
  const ReplicaPlan& plan() const { return ranks_[0]->plan(); }
  const std::vector<std::unique_ptr<Replica>>& all() const { return ranks_; }
  // The rank that has, or last had, the request.
  std::size_t rank_of(std::int32_t request) const;
  Replica& of(std::int32_t request) { return *ranks_[rank_of(request)]; }
  // The one with the fewest requests has it from now on, as vLLM's coordinator balances them.
  Replica& assign(std::int32_t request);

  // As Replica's, of all ranks. A rank with nothing to compute runs along.
  bool schedule(Seconds now, Iteration& iteration);
  std::int64_t longest_run(Iteration& iteration);
  void complete(const Iteration& iteration, Seconds start, Seconds end, const std::vector<StepRun>& runs,
                std::int64_t steps);
  std::int64_t outstanding_requests() const;
  std::int64_t outstanding_tokens() const;

 private:
  void keep_in_step();

  std::vector<std::unique_ptr<Replica>> ranks_;
  Recorder& recorder_;
  std::vector<std::int16_t> rank_of_;  // by request; of several ranks only
};

}  // namespace weir
