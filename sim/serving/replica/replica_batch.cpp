// A replica carries a batch out: each request that it names joins, gives way, moves or computes, or is
// refused.
#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "sim/serving/replica/replica.h"

namespace weir {
namespace {

// Called once a slice, a million times a second: out of line it is 2 % of a long run.
[[gnu::always_inline]] inline void add(const SequenceView& view, std::int64_t tokens, std::int64_t drafts,
                                       bool with_contexts, BatchShape& shape, Iteration::Parts& parts) {
  if (view.prefilling()) {
    parts.chunks.push_back({tokens, view.computed_tokens, view.channel});
    shape.prefill_tokens += tokens;
  } else {
    const std::int64_t context = view.computed_tokens + tokens + drafts;
    ++shape.decodes;
    shape.decode_context_sum += context;
    shape.decode_context_max = std::max(shape.decode_context_max, context);
    if (with_contexts) parts.contexts.push_back({context, view.channel});
  }
  if (tokens == view.pending()) ++shape.sequences;
}

[[noreturn]] void refuse(const char* does, std::int32_t request, const char* why) {
  throw std::logic_error(fmt::format("a batching policy {} request {}, which {}", does, request, why));
}

void point(BatchShape& shape, const Iteration::Parts& parts) {
  shape.prefill = parts.chunks;
  shape.contexts = parts.contexts;
}

}  // namespace

void Replica::admit(std::int32_t request, Seconds now, Iteration& iteration) {
  auto [view, live] = waiting_.take(request);
  indexed_ = false;
  RequestRecord& record = recorder_.record(request);
  const bool begins = record.scheduled < Seconds(0);
  if (begins) record.scheduled = now;
  if (BatchPrefixes::Held held = prefixes_.hold(view); live.resident_at >= 0) {
    view.blocks = held.blocks;
    live.resident -= held.blocks * cache_.block_tokens();
    recorder_.result().not_sent_tokens += held.blocks * cache_.block_tokens();
  } else if (held.blocks > 0 || !held.loads.empty()) {
    view.blocks = held.blocks;
    view.computed_tokens = held.blocks * cache_.block_tokens();
    if (begins) {
      record.found_tokens = view.computed_tokens;
      recorder_.found_in_tiers(request, held.loads);
    }
    if (!held.loads.empty()) load(view, live, std::move(held.loads), iteration);
  }
  view.prefill_target = std::max(view.prefill_target, view.computed_tokens);
  show(request, now, live.resident > 0 ? "KV transfer" : doing(view));
  running_.push_back(view);
  live_.push_back(live);
  last_tokens_.push_back(live.last_token);
  if (request == refused_) refused_ = -1;
  ++admitted_;
  for (ReplicaListener* listener : listeners_)
    listener->admitted(*this, request, view.computed_tokens - live.resident, now);
  if (hands_over(record)) events_.prompt_begins(request);
}

// The request must run, and have run when the policy was asked.
std::size_t Replica::running_at(std::int32_t request, const char* what_for) {
  const bool known = static_cast<std::size_t>(request) < positions_.size();
  const std::size_t at = known ? position(request) : removed_.size();
  if (at >= removed_.size() || running_[at].request != request || removed_[at])
    refuse(what_for, request, "does not run");
  return at;
}

// The leading slices, as long as they are decodes in the order of running_: nearly always nearly all of them.
// A loop of its own, on locals, because it is a part of what each step costs.
std::size_t Replica::compute_decodes(const std::vector<Slice>& slices, Iteration& iteration) {
  const std::size_t most = std::min(slices.size(), running_.size());
  iteration.members.resize(most);
  const std::int64_t rows = 1 + drafts();
  std::int64_t sum = 0, longest = 0;
  std::size_t i = 0;
  for (; i < most; ++i) {
    SequenceView& view = running_[i];
    const bool decodes = !view.in_flight && !view.elsewhere && !view.prefilling() && view.pending() == 1;
    if (view.request != slices[i].request || slices[i].tokens != 1 || removed_[i] || !decodes) break;
    const std::int64_t context = view.computed_tokens + rows;
    take_blocks_for(view, context);
    sum += context;
    longest = std::max(longest, context);
    ++view.computed_tokens;
    view.in_flight = true;
    iteration.members[i] = {view.request, true};
  }
  iteration.members.resize(i);
  BatchShape& shape = iteration.shape;
  shape.decodes = shape.sequences = static_cast<std::int64_t>(i);
  shape.decode_context_sum = sum;
  shape.decode_context_max = longest;
  return i;
}

void Replica::compute(const std::vector<Slice>& slices, Iteration& iteration) {
  const bool with_contexts = plan_->kv_pools.several_channels();
  const bool alike = !with_contexts && iteration.sub_batches.empty();
  std::size_t next = alike ? compute_decodes(slices, iteration) : 0;
  for (const Slice& slice : std::span(slices).subspan(next)) {
    if (next >= running_.size() || running_[next].request != slice.request || removed_[next])
      next = running_at(slice.request, "computes");
    compute(next++, slice, with_contexts, iteration);
  }
}

inline void Replica::compute(std::size_t at, const Slice& slice, bool with_contexts, Iteration& iteration) {
  SequenceView& view = running_[at];
  if (view.in_flight || slice.tokens < 1 || slice.tokens > view.pending())
    refuse("computes", slice.request, "has not so many tokens to compute");
  const bool prompt = view.prefilling();
  const std::int64_t drafts = prompt ? 0 : this->drafts();
  take_blocks_for(view, view.computed_tokens + slice.tokens + drafts);
  if (view.elsewhere) {  // room is made; its KV comes first, its tokens in a later iteration
    Live& live = live_[at];
    const bool remote = live.resident_at >= 0;
    const auto loads = loads_.find(view.request);
    const bool swapped = !remote && loads == loads_.end();
    const KvMove::Place from = remote ? KvMove::Place{live.resident_at} : here(swapped);
    iteration.moves.push_back({view.request, live.resident, from, here(false)});
    if (loads != loads_.end()) iteration.moves.back().tiers = loads->second;
    view.in_flight = true;
    view.elsewhere = false;
    live.resident = 0;
    return;
  }
  add(view, slice.tokens, drafts, with_contexts, iteration.shape, iteration.parts);
  if (!iteration.sub_batches.empty()) {
    const auto half = static_cast<std::size_t>(slice.sub_batch);
    if (half > 1) refuse("computes", slice.request, "is in a third sub-batch");
    add(view, slice.tokens, drafts, with_contexts, iteration.sub_batches[half],
        iteration.sub_batch_parts[half]);
  }
  view.computed_tokens += slice.tokens;
  if (prompt && prefixes_.path().shared() && !keeps_tree()) publish_prompt(view);
  const bool yields = view.computed_tokens == view.known_tokens;
  view.in_flight = yields || !spec_->engine.pipelined_chunks;
  iteration.members.push_back({view.request, yields, prompt});
}

bool Replica::swaps_out(const SequenceView& view) const {
  return spec_->kv_cache.preemption == Preemption::swap && view.computed_tokens > 0 &&
         swapped_ + cache_.blocks_for(view.computed_tokens) <= plan_->swap_blocks;
}

void Replica::preempt(std::int32_t request, Seconds now, Iteration& iteration) {
  const std::size_t at = running_at(request, "preempts");
  SequenceView view = running_[at];
  Live live = live_[at];
  live.last_token = last_tokens_[at];
  if (view.in_flight) refuse("preempts", request, "is in flight");
  const std::int64_t blocks = std::exchange(view.blocks, 0);
  recorder_.phase(request, now, "preempted");
  ++recorder_.record(request).preemptions;
  ++recorder_.result().preemptions;
  ++preempted_;
  if (swaps_out(view)) {
    iteration.moves.push_back({request, view.computed_tokens, here(false), here(true)});
    swapped_ += cache_.blocks_for(view.computed_tokens);
    live.resident = view.computed_tokens;
    live.resident_at = -1;
    view.elsewhere = true;
    cache_.give(request, blocks, pool(view));
  } else {
    if (spec_->kv_cache.prefix_caching != PrefixCaching::none && !keeps_tree())
      cache_.publish(request, prefixes_.path()(request, view.computed_tokens / cache_.block_tokens()),
                     pool(view));
    cache_.give(request, blocks, pool(view));
    view.computed_tokens = 0;
    view.prefill_target = view.known_tokens;
  }
  removed_[at] = 1;
  waiting_.push_front(view, live);
  if (hands_over(recorder_.record(request))) events_.prompt_preempted(request, !view.elsewhere);
}

void Replica::remove_marked() {
  indexed_ = false;
  std::size_t kept = static_cast<std::size_t>(std::ranges::find(removed_, 1) - removed_.begin());
  for (std::size_t i = kept; i < running_.size(); ++i) {
    if (removed_[i]) continue;
    running_[kept] = running_[i];
    live_[kept] = live_[i];
    last_tokens_[kept] = last_tokens_[i];
    ++kept;
  }
  running_.resize(kept);
  live_.resize(kept);
  last_tokens_.resize(kept);
}

void Replica::find_positions() {
  for (std::size_t i = 0; i < running_.size(); ++i)
    positions_[static_cast<std::size_t>(running_[i].request)] = static_cast<std::int32_t>(i);
  indexed_ = true;
}

void Replica::move(const Move& move, Iteration& iteration) {
  SequenceView& view = running_[running_at(move.request, "moves")];
  const bool to_device = move.to == KvMemory::spare;
  if (view.in_flight) refuse("moves", move.request, "is in flight");
  if (spare_channel() < 0 || to_device == (view.channel == spare_channel()))
    refuse("moves", move.request, "has no other memory to go to");
  to_device ? move_in(view, iteration) : move_out(view, iteration);
}

// Before the step begins, as of one that is preempted.
void Replica::move_out(SequenceView& view, Iteration& iteration) {
  cache_.give(view.request, view.blocks, pool(view));
  to_place_.assign(1, {view.known_tokens, 0});
  ask_placement();
  view.channel = static_cast<std::int16_t>(to_place_[0].channel);
  cache_.take(view.blocks, pool(view));
  iteration.moves.push_back({view.request, view.computed_tokens, here(false), here(true)});
}

// The host's memory holds it until it has arrived.
void Replica::move_in(SequenceView& view, Iteration& iteration) {
  held_.push_back({view.request, view.blocks, pool(view)});
  view.channel = spare_channel();
  cache_.take(view.blocks, pool(view));
  view.in_flight = true;
  iteration.moves.push_back({view.request, view.computed_tokens, here(true), here(false)});
}

// Admitted requests come first, so that they find what blocks of theirs are left; only those that ran before
// are preempted or moved.
void Replica::carry_out(Seconds now, Iteration& iteration) {
  removed_.assign(running_.size(), 0);
  for (const std::int32_t request : batch_.admitted) admit(request, now, iteration);
  for (const std::int32_t request : batch_.preempted) preempt(request, now, iteration);
  for (const Move& move : batch_.moves) this->move(move, iteration);
  removed_.resize(running_.size(), 0);
  if (!batch_.admitted.empty() || !batch_.preempted.empty()) tell_waiting(now);
  iteration.interleaving = batch_.interleaving;
  if (batch_.interleaving != Interleaving::none) iteration.sub_batches.resize(2);
  iteration.shape.decode_rows = 1 + drafts();
  compute(batch_.slices, iteration);
  if (!batch_.preempted.empty()) remove_marked();
  if (keeps_tree()) publish_chunks(iteration);
  iteration.shape.padding = spec_->engine.graphs.padding(iteration.shape);
  point(iteration.shape, iteration.parts);
  for (std::size_t half = 0; half < iteration.sub_batches.size(); ++half)
    point(iteration.sub_batches[half], iteration.sub_batch_parts[half]);
  if (side_ && !iteration.members.empty()) follow_side(iteration);
}

// Prompts do all there is, and so do decodes beside one.
void Replica::follow_side(Iteration& iteration) {
  decoding_.clear();
  std::size_t next = 0;
  for (const auto& member : iteration.members) {
    const SequenceView& view = running_[position(member.request, next)];
    if (view.computed_tokens > view.prefill_target) decoding_.push_back({view.request, view.input_tokens});
  }
  if (iteration.shape.prefill_tokens > 0)
    side_->pass(decoding_);
  else
    iteration.shape.side = side_->next(decoding_, iteration.shape);
}

}  // namespace weir
