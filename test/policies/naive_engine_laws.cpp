// What every decision of a batching policy must keep, whichever policy it is.
#include <algorithm>

#include "test/policies/naive_engine.h"

namespace weir {
namespace {

bool same(const Batch& a, const Batch& b) {
  return std::ranges::equal(a.slices, b.slices,
                            [](Slice x, Slice y) {
                              return x.sequence == y.sequence && x.tokens == y.tokens &&
                                     x.sub_batch == y.sub_batch;
                            }) &&
         a.preempted == b.preempted && a.moved_in == b.moved_in && a.moved_out == b.moved_out &&
         a.admitted == b.admitted && a.interleaving == b.interleaving;
}

}  // namespace

void NaiveEngine::check(const ServingView& now, const Batch& batch) const {
  demand(!was_empty_ || (batch.slices.empty() && batch.admitted == 0 && batch.preempted.empty()),
         "an arrival behind a blocked head changed an empty decision");
  demand(batch.admitted >= 0 && batch.admitted <= std::ssize(now.waiting), "admits more than wait");
  demand(batch.preempted.empty() || batch.admitted == 0, "admits in a step that preempted");
  demand(
      std::ssize(now.running) - std::ssize(batch.preempted) + batch.admitted <= scenario_.max_batch_requests,
      "runs more than max_batch_requests");
  demand(std::ssize(batch.slices) <= ceil_div(scenario_.max_batch_requests, scenario_.pipeline_stages),
         "more sequences than a micro-batch may have");
  std::set<std::int32_t> seen(batch.preempted.begin(), batch.preempted.end());
  demand(seen.size() == batch.preempted.size(), "preempts one twice");
  for (const std::int32_t victim : batch.preempted)
    demand(victim >= 0 && victim < std::ssize(now.running) &&
               !now.running[static_cast<std::size_t>(victim)].in_flight,
           "preempts what is not there or in flight");
  std::int64_t tokens = 0;
  for (const Slice& slice : batch.slices) {
    demand(slice.sequence >= 0 && slice.sequence < std::ssize(now.running) + batch.admitted,
           "slice of nobody");
    demand(seen.insert(slice.sequence).second, "schedules one twice, or preempts and schedules it");
    check_slice(now, slice);
    tokens += slice.tokens;
  }
  demand(tokens <= scenario_.max_batch_tokens, "over the token budget");
  demand(batch.valid.steps >= 1, "is not itself");
  demand(
      batch.valid.steps == 1 || (batch.admitted == 0 && batch.preempted.empty() && batch.moved_in.empty() &&
                                 batch.moved_out.empty() && !batch.slices.empty()),
      "repeatable although something changes");
  check_moves(now, batch);
}

void NaiveEngine::check_moves(const ServingView& now, const Batch& batch) const {
  std::set<std::int32_t> seen(batch.preempted.begin(), batch.preempted.end());
  for (const Slice& slice : batch.slices) seen.insert(slice.sequence);
  for (const auto* moved : {&batch.moved_in, &batch.moved_out})
    for (const std::int32_t at : *moved) {
      demand(seen.insert(at).second, "moves one twice, or one that runs or goes");
      demand(at >= 0 && at < std::ssize(now.running), "moves nobody");
      const SequenceView& sequence = now.running[static_cast<std::size_t>(at)];
      demand(!sequence.in_flight, "moves what is in flight");
      demand(sequence.channel == (moved == &batch.moved_in ? 0 : 1), "moves one to where it is");
    }
}

void NaiveEngine::check_slice(const ServingView& now, const Slice& slice) const {
  const auto at = static_cast<std::size_t>(slice.sequence);
  const bool joins = at >= now.running.size();
  const SequenceView& sequence = joins ? now.waiting[at - now.running.size()] : now.running[at];
  demand(!sequence.in_flight && slice.tokens >= 1 && slice.tokens <= sequence.pending(),
         "tokens it has not got");
  if (!joins && !sequence.prefilling()) demand(slice.tokens == 1, "a decode of more than one token");
  const bool cuts = scenario_.kind == "chunked_prefill" || scenario_.kind == "adaptive_chunk_interleaving";
  if (!cuts) demand(slice.tokens == sequence.pending(), "cuts a prompt");
}

// The batch that just came back was repeatable, and nothing happened since it went out that ends a
// repetition: then the decision must be the same again, unless its blocks run out.
void NaiveEngine::check_repetition(const Batch& batch) {
  if (!back_ || !back_->repeatable || disturbed_ > back_->issued) return;
  for (const Flying& other : flying_)
    if (!other.repeatable) return;
  std::vector<std::int64_t> wanted(free_.size());
  for (const Slice& slice : back_->decision.slices) {
    const SequenceView& sequence = running_[static_cast<std::size_t>(slice.sequence)];
    wanted[static_cast<std::size_t>(sequence.channel)] +=
        ceil_div(sequence.computed_tokens + 1, scenario_.block_tokens) - sequence.blocks;
  }
  for (std::size_t c = 0; c < free_.size(); ++c)
    if (wanted[c] > free_[c]) return;
  if (back_->decision.valid.steps <= 1) return;
  demand(same(batch, back_->decision), "a repeatable batch did not repeat");
  demand(batch.valid.steps >= back_->decision.valid.steps - 1, "a batch that was to stay longer");
  ++repeats_checked;
}

}  // namespace weir
