#include "sim/engine/serving/replica.h"

#include <utility>

#include "sim/engine/servable.h"

namespace weir {

namespace {

// Called once a slice, a million times a second: out of line it is 2 % of a long run.
[[gnu::always_inline]] inline void add(const SequenceView& view, std::int64_t tokens, bool with_contexts,
                                       BatchShape& shape, Iteration::Parts& parts) {
  if (view.prefilling()) {
    parts.chunks.push_back({tokens, view.computed_tokens, view.channel});
    shape.prefill_tokens += tokens;
  } else {
    const std::int64_t context = view.computed_tokens + tokens;
    ++shape.decodes;
    shape.decode_context_sum += context;
    shape.decode_context_max = std::max(shape.decode_context_max, context);
    if (with_contexts) parts.contexts.push_back({context, view.channel});
  }
  if (tokens == view.pending()) ++shape.sequences;
}

void point(BatchShape& shape, const Iteration::Parts& parts) {
  shape.prefill = parts.chunks;
  shape.contexts = parts.contexts;
}

}  // namespace

void Iteration::clear() {
  shape = {};
  for (Parts* p : {&parts, &sub_batch_parts[0], &sub_batch_parts[1]}) {
    p->chunks.clear();
    p->contexts.clear();
  }
  sub_batches.clear();
  interleaving = Interleaving::none;
  members.clear();
  transfers.clear();
  steps = 1;
}

Replica::Replica(int index, const ReplicaSpec& spec, std::vector<std::int32_t>& positions, Recorder& recorder,
                 Events events)
    : index_(index),
      spec_(&spec),
      cache_(spec.kv_pools.blocks, spec.kv_cache.block_tokens),
      positions_(positions),
      recorder_(recorder),
      events_(std::move(events)) {}

bool Replica::fits(const Request& r) const {
  return can_serve(*spec_, r);
}

// A prefill replica hands over with the first token: the others never lie in its cache.
std::int64_t Replica::generated_here(const Request& r) const {
  return spec_->role == Role::prefill ? 1 : r.output_tokens;
}

bool Replica::enqueue(std::int32_t request, Seconds now) {
  return enqueue(request, 0, now);
}

bool Replica::enqueue_in_generation(std::int32_t request, Seconds now) {
  return enqueue(request, recorder_.record(request).request.input_tokens - 1, now);
}

bool Replica::enqueue(std::int32_t request, std::int64_t computed, Seconds now) {
  RequestRecord& record = recorder_.record(request);
  record.replica = index_;
  const Request& r = record.request;
  if (!fits(r)) {
    record.status = RequestStatus::rejected;
    return false;
  }
  account(now);
  SequenceView view{};
  view.input_tokens = view.known_tokens = view.prefill_target = r.input_tokens;
  view.output_tokens = generated_here(r);
  if (computed > 0) view.computed_tokens = view.prefill_target = computed;
  view.request = request;
  waiting_.push_back(view, {});
  recorder_.phase(request, now, "queued");
  ++outstanding_requests_;
  outstanding_tokens_ += r.input_tokens + r.output_tokens;
  return true;
}

void Replica::enqueue_handover(std::int32_t request, int from_replica, Seconds now) {
  account(now);
  const Request& r = recorder_.record(request).request;
  SequenceView view{};
  view.input_tokens = view.computed_tokens = view.prefill_target = r.input_tokens;
  view.known_tokens = r.input_tokens + 1;
  view.output_tokens = r.output_tokens;
  view.request = request;
  view.elsewhere = true;
  waiting_.push_back(view, {.last_token = now, .resident = r.input_tokens, .resident_at = from_replica});
  recorder_.record(request).replica = index_;
  recorder_.phase(request, now, "queued");
  ++outstanding_requests_;
  outstanding_tokens_ += r.output_tokens - 1;
}

void Replica::account(Seconds now) {
  const auto blocks = static_cast<double>(cache_.used());
  recorder_.queue(accounted_, now, static_cast<std::int64_t>(running_.size()),
                  static_cast<std::int64_t>(waiting_.size()), (blocks_then_ + blocks) / 2, kv_limited_);
  accounted_ = std::max(accounted_, now);
  blocks_then_ = blocks;
}

void Replica::admit(std::int32_t count, Seconds now) {
  const auto admitted = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < admitted; ++i) {
    const SequenceView& view = waiting_.view(i);
    positions_[static_cast<std::size_t>(view.request)] = static_cast<std::int32_t>(running_.size());
    RequestRecord& record = recorder_.record(view.request);
    if (record.scheduled < Seconds(0)) record.scheduled = now;
    running_.push_back(view);
    live_.push_back(waiting_.live(i));
    running_.back().prefill_target = std::max(view.prefill_target, view.computed_tokens);
    recorder_.phase(view.request, now,
                    waiting_.live(i).resident > 0 ? "KV transfer" : doing(running_.back()));
    if (const std::int64_t found = cache_.found(view.request, pool(view)); found > 0) {
      cache_.take_found(view.request, pool(view));
      running_.back().blocks = cache_.blocks_for(found);
    }
  }
  waiting_.pop_front(admitted);
  admitted_ += count;
}

void Replica::compute(const Slice& slice, Iteration& iteration) {
  SequenceView& view = running_[static_cast<std::size_t>(slice.sequence)];
  Live& live = live_[static_cast<std::size_t>(slice.sequence)];
  const std::int64_t blocks = cache_.blocks_for(view.computed_tokens + slice.tokens);
  if (blocks > view.blocks) {
    cache_.take(blocks - view.blocks, pool(view));
    view.blocks = blocks;
  }
  if (live.resident > 0) {  // room is made; its KV comes first, its tokens in a later iteration
    const bool remote = live.resident_at >= 0;
    iteration.transfers.push_back({remote ? KvTransfer::Kind::handover : KvTransfer::Kind::swap_in,
                                   view.request, live.resident, live.resident_at});
    view.in_flight = true;
    view.elsewhere = false;
    live.resident = 0;
    return;
  }
  const bool with_contexts = spec_->on->spec().kv_channels > 1;
  add(view, slice.tokens, with_contexts, iteration.shape, iteration.parts);
  if (!iteration.sub_batches.empty()) {
    const auto half = static_cast<std::size_t>(slice.sub_batch);
    add(view, slice.tokens, with_contexts, iteration.sub_batches[half], iteration.sub_batch_parts[half]);
  }
  view.computed_tokens += slice.tokens;
  const bool yields = view.computed_tokens == view.known_tokens;
  view.in_flight = yields || !spec_->engine.pipelined_chunks;
  iteration.members.push_back({view.request, yields});
}

void Replica::preempt(const std::vector<std::int32_t>& preempted, Seconds now, Iteration& iteration) {
  for (const std::int32_t at : preempted) {
    const auto i = static_cast<std::size_t>(at);
    SequenceView view = running_[i];
    Live live = live_[i];
    const std::int64_t blocks = std::exchange(view.blocks, 0);
    recorder_.phase(view.request, now, "preempted");
    ++recorder_.record(view.request).preemptions;
    ++recorder_.result().preemptions;
    if (spec_->kv_cache.preemption == Preemption::swap && view.computed_tokens > 0) {
      iteration.transfers.push_back({KvTransfer::Kind::swap_out, view.request, view.computed_tokens, -1});
      live.resident = view.computed_tokens;
      live.resident_at = -1;
      view.elsewhere = true;
      cache_.give(blocks, pool(view));
    } else {
      if (spec_->kv_cache.prefix_caching)
        cache_.leave(view.request, blocks, view.computed_tokens, pool(view));
      else
        cache_.give(blocks, pool(view));
      view.computed_tokens = 0;
      view.prefill_target = view.known_tokens;
    }
    removed_[i] = 1;
    waiting_.push_front(view, live);
  }
}

void Replica::remove_marked() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    if (removed_[i]) continue;
    if (kept != i) {
      running_[kept] = running_[i];
      live_[kept] = live_[i];
      positions_[static_cast<std::size_t>(running_[kept].request)] = static_cast<std::int32_t>(kept);
    }
    ++kept;
  }
  running_.resize(kept);
  live_.resize(kept);
}

// Preempted ones stand in front of those that never ran.
void Replica::find_left_blocks() {
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    SequenceView& view = waiting_.view(i);
    if (recorder_.record(view.request).preemptions == 0) break;
    if (waiting_.live(i).resident == 0) view.computed_tokens = cache_.found(view.request, pool(view));
  }
}

bool Replica::schedule(Seconds now, Iteration& iteration) {
  account(now);
  iteration.clear();
  kv_limited_ = false;
  if (empty()) return false;
  if (spec_->on->spec().kv_channels > 1) place_waiting();
  find_left_blocks();
  batch_.clear();
  spec_->batching->next({.running = running_,
                         .waiting = waiting_.views(),
                         .free_blocks = cache_.free_by_channel(),
                         .total_blocks = cache_.largest(),
                         .block_tokens = cache_.block_tokens(),
                         .admission = spec_->kv_cache.admission,
                         .pipeline_stages = spec_->parallelism.pipeline,
                         .times = times_.get(),
                         .pools = spec_->kv_pools.of_channel,
                         .own_channel = own_channel()},
                        batch_);
  removed_.assign(running_.size(), 0);
  if (!batch_.preempted.empty()) preempt(batch_.preempted, now, iteration);
  // Preempted ones now stand in front of those that wait, but a policy admits nobody in a step that preempts.
  if (batch_.admitted > 0) {
    admit(batch_.admitted, now);
    removed_.resize(running_.size(), 0);
  }
  // After those admitted, who may find blocks of theirs among the free ones.
  for (const std::int32_t at : batch_.moved_out) move_out(at, iteration);
  for (const std::int32_t at : batch_.moved_in) move_in(at, iteration);
  iteration.interleaving = batch_.interleaving;
  if (batch_.interleaving != Interleaving::none) iteration.sub_batches.resize(2);
  for (const Slice& slice : batch_.slices) compute(slice, iteration);
  if (!batch_.preempted.empty()) remove_marked();
  point(iteration.shape, iteration.parts);
  for (std::size_t half = 0; half < iteration.sub_batches.size(); ++half)
    point(iteration.sub_batches[half], iteration.sub_batch_parts[half]);
  if (iteration.transfers.empty()) iteration.steps = std::min(batch_.valid.steps, placement_.steps);
  // Whoever was refused for his blocks waits for them until he is admitted: in a static batch to its end, as
  // he would be in it.
  const std::int32_t head = waiting_.empty() ? -1 : waiting_.view(0).request;
  const bool lacks_blocks = batch_.valid.wakes_on.free_blocks;
  if (lacks_blocks || head != refused_) refused_ = lacks_blocks ? head : -1;
  kv_limited_ = lacks_blocks || refused_ >= 0;
  blocks_then_ = static_cast<double>(cache_.used());
  return !iteration.members.empty() || !iteration.transfers.empty() || !batch_.preempted.empty();
}

}  // namespace weir
