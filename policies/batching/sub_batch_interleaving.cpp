// NeuPIMs (ASPLOS '24): iteration-level scheduling as Orca's, whole prompts beside decodes, on paged KV cache
// (Section 5), and the batch cut in two whose operators are independent chains (Section 6.2): of every
// channel's decodes, in order, one half each, the odd ones in turn (Section 6.5, Algorithm 3). Beyond the
// paper, whose devices compute no prompts: a prompt goes to the sub-batch with fewer tokens. A preempted
// request is computed anew in one step; hence serves(), as of prefill_first.
#include <boost/container/small_vector.hpp>

#include "policies/batching/batch_builder.h"
#include "policies/batching/sequences_by_name.h"

namespace weir {
namespace {

class SubBatchInterleaving final : public LimitedBatching {
 public:
  SubBatchInterleaving(const BatchLimits& limits, Interleaving interleaving, bool prompts_first)
      : LimitedBatching(limits), interleaving_(interleaving), prompts_first_(prompts_first) {}

  void next(const ServingView& view, Batch& batch) const override {
    BatchBuilder builder(view, limits_, view.admission, batch);
    if (!prompts_first_) builder.run();
    while (const SequenceView* head = builder.head())
      if (!builder.add(*head, head->pending())) break;
    if (prompts_first_ && !batch.admitted.empty()) return;
    if (prompts_first_) builder.run();
    if (interleaving_ != Interleaving::none && partition(view, batch)) batch.interleaving = interleaving_;
  }

  bool interleaves() const override { return interleaving_ != Interleaving::none; }

  bool serves(const Request& request, std::int64_t total_blocks, std::int64_t block_tokens) const override {
    return request.input_tokens + request.output_tokens - 1 <= limits_.max_batch_tokens &&
           LimitedBatching::serves(request, total_blocks, block_tokens);
  }

 private:
  // False if there are no two to be parted. Those whose KV cache is fetched first compute nothing yet.
  static bool partition(const ServingView& view, Batch& batch) {
    boost::container::small_vector<std::int64_t, 32> first(view.free_blocks.size());  // half of each channel
    std::int64_t computed = 0, tokens[2] = {0, 0};
    SequencesByName sequences(view);
    for (const Slice& slice : batch.slices) {
      const SequenceView& sequence = sequences[slice.request];
      if (sequence.elsewhere) continue;
      ++computed;
      if (!sequence.prefilling()) ++first[pool_of(view, sequence)];
    }
    if (computed < 2) return false;
    bool turn = true;
    for (std::int64_t& decodes : first) {
      const bool odd = decodes % 2 != 0;
      tokens[1] += decodes;
      decodes = decodes / 2 + (odd && turn);
      tokens[0] += decodes, tokens[1] -= decodes;
      if (odd) turn = !turn;
    }
    for (Slice& slice : batch.slices) {
      const SequenceView& sequence = sequences[slice.request];
      if (sequence.elsewhere) continue;
      if (sequence.prefilling()) {
        slice.sub_batch = tokens[1] < tokens[0];
        tokens[slice.sub_batch] += slice.tokens;
      } else {
        slice.sub_batch = --first[pool_of(view, sequence)] < 0;
      }
    }
    return true;
  }

  Interleaving interleaving_;
  bool prompts_first_;
};

}  // namespace

std::shared_ptr<const BatchingPolicy> make_sub_batch_interleaving(Params& params) {
  const BatchLimits limits = BatchLimits::from(params);
  const auto interleaving = params.choice<Interleaving>(
      {"interleave",
       "Two sub-batches side by side, one on the NPU while the other is on the PIM; the whole batch at once; "
       "or each step the one that is shorter."},
      {{"on", Interleaving::two}, {"off", Interleaving::none}, {"best", Interleaving::two_if_faster}},
      "best");
  const std::string prompts = params.choice({"prompts",
                                             "Whole prompts beside decodes, or in steps of their own before "
                                             "them, as vLLM v0 has them (L3's baseline with "
                                             "HBM-PIM)."},
                                            {"beside", "first"}, "beside");
  return std::make_shared<SubBatchInterleaving>(limits, interleaving, prompts == "first");
}

}  // namespace weir
