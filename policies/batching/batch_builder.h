#pragma once
// A batch while a policy puts it together, and what is left of the token budget, of the micro-batch and of
// the KV blocks. Lives on the stack of BatchingPolicy::next, which runs once an iteration: it allocates
// nothing and passes once over the running sequences.
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <limits>

#include "policies/batching/batching.h"

namespace weir {

inline std::int64_t blocks_for(std::int64_t tokens, std::int64_t block_tokens) {
  return (tokens + block_tokens - 1) / block_tokens;
}

struct BatchLimits {
  std::int64_t max_batch_requests;
  std::int64_t max_batch_tokens;  // >= max_batch_requests, so that a step always holds every decode
  static BatchLimits from(Params& params);
};

class BatchBuilder {
 public:
  BatchBuilder(const ServingView& view, const BatchLimits& limits, Admission admission, Batch& batch);

  // Every running sequence in order: its decode, or as much of its prompt as the budget leaves. One that
  // finds no block takes those of the last in order that is not in flight, as vLLM v1 does; of those in its
  // own KV channel, where there are several.
  void run();
  // The same of decodes alone; the caller continues prompts one by one, in order.
  void run_decodes();
  // The next running prompt that is not computed to its end, nor in flight; null: there is none.
  const SequenceView* unfinished_prompt() const {
    return unfinished_prompt_ < members() ? &running(unfinished_prompt_) : nullptr;
  }
  // Continues it by so many tokens; false if its blocks are not free, nor can be had of prompts behind it.
  bool continue_prompt(std::int64_t tokens);

  // Blocks that the sequence must be able to have, by the rule of admission, for so many tokens next.
  std::int64_t claim(const SequenceView& sequence, std::int64_t tokens) const;
  // The KV cache of a running sequence goes over to the host's memory, if that has room; or to the GPU's own,
  // if that has what an admission would ask for and `spare` blocks more.
  bool move_out(const SequenceView& sequence);
  bool move_in(const SequenceView& sequence, std::int64_t spare);
  // Or it gives its blocks up, so many of which request `to` lacks (-1: those that run), and its seat.
  void preempt(const SequenceView& sequence, std::int32_t to, std::int64_t blocks);
  void give_seat(const SequenceView& sequence, std::int32_t to) { give_up(index_of(sequence), to, 0); }
  bool preempted(const SequenceView& sequence) const;
  // Blocks that its preemption frees for one that is to be admitted: those it holds, or has reserved.
  std::int64_t blocks_of(const SequenceView& sequence) const;
  std::int64_t spare_free_blocks() const { return free_blocks_[spare_pool()]; }
  std::int64_t dealt_free_blocks() const { return free_blocks_[0]; }  // of all ranksets together

  // This step can take another one, whatever its size.
  bool open() const { return !starved_ && has_seat() && !full(); }
  bool has_seat() const { return seats_ > 0; }
  // The next waiting sequence in order of arrival, as look_up() has it, or null if the step is not open.
  const SequenceView* head();
  // A waiting one with what it finds in the KV cache now: tokens that it need not compute, and blocks that
  // cost no free one. Until the next is looked up.
  const SequenceView& look_up(const SequenceView& waiting);
  // The same of the i-th that was admitted, as it was then.
  const SequenceView& admitted(std::size_t i) const { return admitted_[i]; }
  // KV blocks that are missing for its admission, or fewer than none. Waiting ones need not be looked up.
  std::int64_t lacks(const SequenceView& waiting, std::int64_t tokens);
  // Admits one that waits if its KV blocks may be had (so that `spare` stay free); without a slice.
  bool admit(const SequenceView& waiting, std::int64_t tokens, std::int64_t spare = 0);
  // Admits it with a slice of `tokens`, if those fit the budget too.
  bool add(const SequenceView& waiting, std::int64_t tokens, std::int64_t spare = 0);

  // Adds waiting ones in order of arrival, prompts in chunks, until one does not fit.
  void add_in_order();

  // A slice; false if its blocks are not free. The caller has asked full() and tokens_left().
  bool take(const SequenceView& sequence, std::int64_t tokens);
  std::int64_t missing() const { return missing_; }  // blocks, when it was false last

  // The share of the token budget that so many of its tokens take next.
  std::int64_t positions(const SequenceView& sequence, std::int64_t tokens) const {
    return tokens + drafts_of(sequence);
  }
  bool full() const { return tokens_left_ <= 0 || sequences_left_ <= 0; }
  std::int64_t tokens_left() const { return tokens_left_; }
  std::int64_t decodes_left() const {
    return std::max<std::int64_t>(0, std::min(tokens_left_, sequences_left_));
  }

 private:
  std::int64_t drafts_of(const SequenceView& sequence) const {
    return sequence.prefilling() ? 0 : view_.drafts;
  }
  // One number a KV channel. As many as NeuPIMs' devices have lie on the stack.
  template <class T>
  using ByChannel = boost::container::small_vector<T, 32>;

  void run(bool prompts);
  void find_unfinished_prompt(std::int32_t from);
  template <bool several_channels>
  std::int32_t run_ready_decodes();
  bool make_room(std::int32_t index, ByChannel<std::int32_t>& end);
  void give_up(std::int32_t index, std::int32_t to, std::int64_t blocks);
  bool admit_found(const SequenceView& waiting, std::int64_t tokens, std::int64_t spare);
  std::int64_t unclaimed_blocks(std::size_t channel);
  std::size_t spare_pool() const { return pool_of(view_, view_.spare_channel); }
  std::size_t at(const SequenceView& sequence) const { return pool_of(view_, sequence); }
  std::int32_t index_of(const SequenceView& sequence) const {
    return static_cast<std::int32_t>(&sequence - view_.running.data());
  }
  std::int32_t members() const { return static_cast<std::int32_t>(view_.running.size()); }
  const SequenceView& running(std::int32_t i) const { return view_.running[static_cast<std::size_t>(i)]; }

  const ServingView& view_;
  Batch& batch_;
  Admission admission_;
  std::int64_t tokens_left_;
  std::int64_t sequences_left_;  // of the micro-batch
  std::int64_t seats_;           // of max_batch_requests, not taken by running ones
  ByChannel<std::int64_t> free_blocks_;
  ByChannel<std::int64_t> unreserved_;  // blocks, under sequence admission; counted when first asked
  boost::container::small_vector<std::int32_t, 8> preempted_;  // indices into running, the last one first
  std::int32_t unfinished_prompt_ = std::numeric_limits<std::int32_t>::max();
  bool starved_ = false;  // a request found no block: none is admitted
  std::int64_t missing_ = 0;
  ByChannel<std::int64_t> given_up_;          // blocks of preempted ones, where prefixes are found
  SequenceView found_;                        // who was looked up last
  std::int64_t found_at_ = -1, changes_ = 0;  // slices, admissions and preemptions before
  boost::container::small_vector<SequenceView, 4> admitted_;
};

// All policies share these two limits.
class LimitedBatching : public BatchingPolicy {
 public:
  explicit LimitedBatching(const BatchLimits& limits) : limits_(limits) {}
  bool serves(const Request& request, std::int64_t total_blocks, std::int64_t block_tokens) const override;
  std::int64_t max_batch_requests() const override { return limits_.max_batch_requests; }
  std::int64_t max_batch_tokens() const override { return limits_.max_batch_tokens; }

 protected:
  const BatchLimits limits_;
};

// These policies compute a prompt whole, in one step.
class WholePromptBatching : public LimitedBatching {
 public:
  using LimitedBatching::LimitedBatching;
  bool serves(const Request& request, std::int64_t total_blocks, std::int64_t block_tokens) const override {
    return request.input_tokens <= limits_.max_batch_tokens &&
           LimitedBatching::serves(request, total_blocks, block_tokens);
  }
};

}  // namespace weir
