// What every decision of a batching policy must keep, whichever policy it is.
#include <algorithm>
#include <map>

#include "policies/batching/orders.h"
#include "test/policies/naive_engine.h"

namespace weir {
namespace {

bool same(const Batch& a, const Batch& b) {
  return std::ranges::equal(a.slices, b.slices,
                            [](Slice x, Slice y) {
                              return x.request == y.request && x.tokens == y.tokens &&
                                     x.sub_batch == y.sub_batch;
                            }) &&
         a.preempted == b.preempted && a.moves.empty() && b.moves.empty() && a.admitted == b.admitted &&
         a.interleaving == b.interleaving;
}

bool is_order(const std::string& kind) {
  static const std::vector<std::string> orders = names_of(waiting_orders());
  return std::ranges::find(orders, kind) != orders.end();
}

}  // namespace

// Without prefixes to find, longest_prefix_match keeps to the order of arrival.
bool may_overtake(const std::string& kind) {
  return kind == "priority" || (is_order(kind) && kind != "longest_prefix_match");
}

void NaiveEngine::check(const ServingView& now, const Batch& batch) const {
  demand(!was_empty_ || (batch.slices.empty() && batch.admitted.empty() && batch.preempted.empty()),
         "an arrival behind a blocked head changed an empty decision");
  demand(batch.admitted.size() <= now.waiting.size(), "admits more than wait");
  for (std::size_t i = 0; i < batch.admitted.size() && !may_overtake(scenario_.kind); ++i)
    demand(batch.admitted[i] == now.waiting[i].request, "lets one overtake another");
  if (scenario_.kind == "priority")
    check_classes(now, batch);
  else
    demand(batch.preempted.empty() || batch.admitted.empty(), "admits in a step that preempted");
  demand(std::ssize(now.running) - std::ssize(batch.preempted) + std::ssize(batch.admitted) <=
             scenario_.max_batch_requests,
         "runs more than max_batch_requests");
  demand(std::ssize(batch.slices) <= ceil_div(scenario_.max_batch_requests, scenario_.pipeline_stages),
         "more sequences than a micro-batch may have");
  std::set<std::int32_t> seen(batch.preempted.begin(), batch.preempted.end());
  demand(seen.size() == batch.preempted.size(), "preempts one twice");
  for (const std::int32_t request : batch.preempted) {
    const SequenceView* victim = named(now.running, request);
    demand(victim && !victim->in_flight, "preempts what is not there or in flight");
  }
  std::int64_t tokens = 0;
  for (const Slice& slice : batch.slices) {
    demand(seen.insert(slice.request).second, "schedules one twice, or preempts and schedules it");
    check_slice(now, batch, slice);
    tokens += slice.tokens;
  }
  demand(tokens <= scenario_.max_batch_tokens, "over the token budget");
  demand(batch.valid.steps >= 1, "is not itself");
  demand(batch.valid.steps == 1 || (batch.admitted.empty() && batch.preempted.empty() &&
                                    batch.moves.empty() && !batch.slices.empty()),
         "repeatable although something changes");
  check_moves(now, batch);
}

void NaiveEngine::check_moves(const ServingView& now, const Batch& batch) const {
  std::set<std::int32_t> seen(batch.preempted.begin(), batch.preempted.end());
  for (const Slice& slice : batch.slices) seen.insert(slice.request);
  for (const auto& [request, to] : batch.moves) {
    demand(seen.insert(request).second, "moves one twice, or one that runs or goes");
    const SequenceView* sequence = named(now.running, request);
    demand(sequence, "moves nobody");
    demand(!sequence->in_flight, "moves what is in flight");
    demand(sequence->channel == (to == KvMemory::spare ? 0 : 1), "moves one to where it is");
  }
}

// Nobody waits for a seat, for KV blocks or for tokens of the step that less urgent classes have, unless
// these are in flight: all that could be preempted are taken away, and then there is no room for him.
void NaiveEngine::check_classes(const ServingView& now, const Batch& batch) const {
  const auto contains = [](const auto& requests, const SequenceView& s) {
    return std::ranges::find(requests, s.request) != requests.end();
  };
  const auto order = [](const SequenceView& s) { return std::pair(s.priority, s.request); };
  const SequenceView* first = nullptr;  // of those that still wait
  for (const SequenceView& s : now.waiting)
    if (!contains(batch.admitted, s) && (!first || order(s) < order(*first))) first = &s;
  if (!first) return;
  std::map<std::int32_t, std::int64_t> slices;
  for (const Slice& slice : batch.slices) slices[slice.request] = slice.tokens;
  std::int64_t seats = scenario_.max_batch_requests, tokens = scenario_.max_batch_tokens,
               slots = ceil_div(seats, scenario_.pipeline_stages), blocks = scenario_.total_blocks;
  const auto blocks_after = [&](const SequenceView& s, std::int64_t more) {
    return ceil_div(scenario_.admission == Admission::sequence ? s.final_tokens() : s.computed_tokens + more,
                    scenario_.block_tokens);
  };
  const auto stays = [&](const SequenceView& s) {
    const std::int64_t slice = slices.contains(s.request) ? slices[s.request] : 0;
    --seats;
    slots -= slice > 0;
    tokens -= slice;
    if (s.channel == first->channel) blocks -= blocks_after(s, slice);
  };
  for (const SequenceView& s : now.waiting) {
    if (!contains(batch.admitted, s)) continue;
    demand(order(s) < order(*first), "admits past one more urgent");
    stays(s);
  }
  for (const SequenceView& s : now.running) {
    const bool lower = s.priority > first->priority;
    const bool served = s.in_flight || slices.contains(s.request);
    if (!lower && !served) return;  // preempted or without blocks, it goes before all that wait
    if (!contains(batch.preempted, s) && (!lower || s.in_flight)) stays(s);
  }
  const std::int64_t chunk = std::min(first->pending(), tokens);
  const std::int64_t wanted = scenario_.admission == Admission::prompt
                                  ? ceil_div(first->known_tokens, scenario_.block_tokens)
                                  : blocks_after(*first, chunk);
  demand(seats <= 0 || slots <= 0 || tokens <= 0 || wanted > blocks, "lets one wait for a less urgent one");
}

void NaiveEngine::check_slice(const ServingView& now, const Batch& batch, const Slice& slice) const {
  const bool joins = std::ranges::find(batch.admitted, slice.request) != batch.admitted.end();
  const SequenceView* found = named(joins ? now.waiting : now.running, slice.request);
  demand(found, "slice of nobody");
  const SequenceView& sequence = *found;
  demand(!sequence.in_flight && slice.tokens >= 1 && slice.tokens <= sequence.pending(),
         "tokens it has not got");
  if (!joins && !sequence.prefilling()) demand(slice.tokens == 1, "a decode of more than one token");
  static const std::set<std::string> cut = {"chunked_prefill", "priority", "adaptive_chunk_interleaving"};
  if (!cut.contains(scenario_.kind) && !is_order(scenario_.kind))
    demand(slice.tokens == sequence.pending(), "cuts a prompt");
}

// The batch that just came back was repeatable, and nothing happened since it went out that ends a
// repetition: then the decision must be the same again, unless its blocks run out.
void NaiveEngine::check_repetition(const Batch& batch) {
  if (!back_ || !back_->repeatable || disturbed_ > back_->issued) return;
  for (const Flying& other : flying_)
    if (!other.repeatable) return;
  std::vector<std::int64_t> wanted(free_.size());
  for (const Slice& slice : back_->decision.slices) {
    const SequenceView& sequence = running_[running_at(slice.request)];
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
