#include "sim/engine/serving/replica.h"

#include <limits>
#include <utility>

namespace weir {

void Iteration::clear() {
  shape = {};
  chunks.clear();
  members.clear();
  transfers.clear();
  repeatable = false;
}

Replica::Replica(int index, const ReplicaSpec& spec, std::int64_t kv_blocks,
                 std::vector<std::int32_t>& positions, Recorder& recorder, Events events)
    : index_(index),
      spec_(&spec),
      cache_(kv_blocks, spec.kv_cache.block_tokens),
      positions_(positions),
      recorder_(recorder),
      events_(std::move(events)) {}

bool Replica::fits(const Request& r) const {
  const std::int64_t tokens = r.input_tokens + r.output_tokens;
  return tokens <= spec_->max_model_len.value_or(tokens) &&
         spec_->batching->serves({r.arrival, r.input_tokens, generated_here(r)}, cache_.total(),
                                 cache_.block_tokens());
}

// A prefill replica hands over with the first token: the others never lie in its cache.
std::int64_t Replica::generated_here(const Request& r) const {
  return spec_->role == Role::prefill ? 1 : r.output_tokens;
}

bool Replica::enqueue(std::int32_t request, Seconds now) {
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
  view.request = request;
  waiting_.push_back(view);
  waiting_live_.emplace_back();
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
  waiting_.push_back(view);
  waiting_live_.push_back({.last_token = now, .resident = r.input_tokens, .resident_at = from_replica});
  recorder_.record(request).replica = index_;
  ++outstanding_requests_;
  outstanding_tokens_ += r.output_tokens - 1;
}

void Replica::account(Seconds now) {
  const auto blocks = static_cast<double>(cache_.used());
  recorder_.queue(accounted_, now, static_cast<std::int64_t>(running_.size()),
                  static_cast<std::int64_t>(waiting_count()), (blocks_then_ + blocks) / 2, kv_limited_);
  accounted_ = std::max(accounted_, now);
  blocks_then_ = blocks;
}

void Replica::push_waiting_front(const SequenceView& view, const Live& live) {
  if (head_ == 0) {
    const std::size_t room = waiting_.size() / 2 + 16;  // less than admit() tidies away
    waiting_.insert(waiting_.begin(), room, SequenceView{});
    waiting_live_.insert(waiting_live_.begin(), room, Live{});
    head_ = room;
  }
  --head_;
  waiting_[head_] = view;
  waiting_live_[head_] = live;
}

void Replica::admit(std::int32_t count, Seconds now) {
  for (std::int32_t i = 0; i < count; ++i, ++head_) {
    const SequenceView& view = waiting_[head_];
    positions_[static_cast<std::size_t>(view.request)] = static_cast<std::int32_t>(running_.size());
    RequestRecord& record = recorder_.record(view.request);
    if (record.scheduled < Seconds(0)) record.scheduled = now;
    running_.push_back(view);
    live_.push_back(waiting_live_[head_]);
    running_.back().prefill_target = std::max(view.prefill_target, view.computed_tokens);
    if (const std::int64_t found = cache_.found(view.request); found > 0) {
      cache_.take_found(view.request);
      running_.back().blocks = cache_.blocks_for(found);
    }
  }
  if (head_ > 64 && 4 * head_ > 3 * waiting_.size()) {
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(head_));
    waiting_live_.erase(waiting_live_.begin(), waiting_live_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
}

void Replica::compute(SequenceView& view, Live& live, std::int64_t tokens, Iteration& iteration) {
  const std::int64_t blocks = cache_.blocks_for(view.computed_tokens + tokens);
  if (blocks > view.blocks) {
    cache_.take(blocks - view.blocks);
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
  const bool prefill = view.prefilling();
  BatchShape& shape = iteration.shape;
  if (prefill) {
    iteration.chunks.push_back({tokens, view.computed_tokens});
    shape.prefill_tokens += tokens;
  }
  view.computed_tokens += tokens;
  if (!prefill) {
    ++shape.decodes;
    shape.decode_context_sum += view.computed_tokens;
    shape.decode_context_max = std::max(shape.decode_context_max, view.computed_tokens);
  }
  const bool yields = view.computed_tokens == view.known_tokens;
  if (yields) ++shape.sequences;
  view.in_flight = yields || !spec_->engine.pipelined_chunks;
  iteration.members.push_back({view.request, yields});
}

void Replica::preempt(const std::vector<std::int32_t>& preempted, Iteration& iteration) {
  for (const std::int32_t at : preempted) {
    const auto i = static_cast<std::size_t>(at);
    SequenceView view = running_[i];
    Live live = live_[i];
    const std::int64_t blocks = std::exchange(view.blocks, 0);
    ++recorder_.record(view.request).preemptions;
    ++recorder_.result().preemptions;
    if (spec_->kv_cache.preemption == Preemption::swap && view.computed_tokens > 0) {
      iteration.transfers.push_back({KvTransfer::Kind::swap_out, view.request, view.computed_tokens, -1});
      live.resident = view.computed_tokens;
      live.resident_at = -1;
      view.elsewhere = true;
      cache_.give(blocks);
    } else {
      if (spec_->kv_cache.prefix_caching)
        cache_.leave(view.request, blocks, view.computed_tokens);
      else
        cache_.give(blocks);
      view.computed_tokens = 0;
      view.prefill_target = view.known_tokens;
    }
    removed_[i] = 1;
    push_waiting_front(view, live);
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
  for (std::size_t i = head_; i < waiting_.size(); ++i) {
    SequenceView& view = waiting_[i];
    if (recorder_.record(view.request).preemptions == 0) break;
    if (waiting_live_[i].resident == 0) view.computed_tokens = cache_.found(view.request);
  }
}

bool Replica::schedule(Seconds now, Iteration& iteration) {
  account(now);
  iteration.clear();
  kv_limited_ = false;
  if (empty()) return false;
  find_left_blocks();
  batch_.clear();
  spec_->batching->next({.running = running_,
                         .waiting = waiting(),
                         .free_blocks = cache_.free(),
                         .total_blocks = cache_.total(),
                         .block_tokens = cache_.block_tokens(),
                         .admission = spec_->kv_cache.admission,
                         .pipeline_stages = spec_->parallelism.pipeline},
                        batch_);
  removed_.assign(running_.size(), 0);
  if (!batch_.preempted.empty()) preempt(batch_.preempted, iteration);
  // Preempted ones now stand in front of those that wait, but a policy admits nobody in a step that preempts.
  if (batch_.admitted > 0) {
    admit(batch_.admitted, now);
    removed_.resize(running_.size(), 0);
  }
  for (const Slice& slice : batch_.slices) {
    const auto i = static_cast<std::size_t>(slice.sequence);
    compute(running_[i], live_[i], slice.tokens, iteration);
  }
  if (!batch_.preempted.empty()) remove_marked();
  iteration.shape.prefill = iteration.chunks;
  iteration.repeatable = batch_.repeatable && iteration.transfers.empty();
  kv_limited_ = waiting_count() > 0 &&
                static_cast<std::int64_t>(running_.size()) < spec_->batching->max_batch_requests() &&
                iteration.shape.tokens() < spec_->batching->max_batch_tokens();
  blocks_then_ = static_cast<double>(cache_.used());
  return !iteration.members.empty() || !iteration.transfers.empty();
}

std::int64_t Replica::longest_run(const Iteration& iteration) const {
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  const std::int64_t block = cache_.block_tokens();
  // After this iteration a sequence has computed_tokens; step j > 1 needs a new block whenever that count
  // crosses a block's end, so sequences are counted by the room left in their last block.
  thread_local std::vector<std::int64_t> by_room;
  by_room.assign(static_cast<std::size_t>(block), 0);
  for (const auto& member : iteration.members) {
    const SequenceView& view = running_[position(member.request)];
    steps = std::min(steps, view.output_tokens - (view.known_tokens - view.input_tokens));
    ++by_room[static_cast<std::size_t>(view.blocks * block - view.computed_tokens)];
  }
  // Extra steps beyond the first: whole blocks' worth first, then the residues one by one.
  const auto n = static_cast<std::int64_t>(iteration.members.size());
  std::int64_t extra = cache_.free() / n * block;
  std::int64_t left = cache_.free() % n;
  for (std::size_t room = 0; room < by_room.size() && left >= by_room[room]; ++room) {
    left -= by_room[room];
    ++extra;
  }
  return std::min(steps, 1 + extra);
}

void Replica::extend_blocks(const Iteration& iteration, std::int64_t more_tokens) {
  for (const auto& member : iteration.members) {
    SequenceView& view = running_[position(member.request)];
    view.computed_tokens += more_tokens;
    const std::int64_t blocks = cache_.blocks_for(view.computed_tokens);
    cache_.take(blocks - view.blocks);
    view.blocks = blocks;
  }
}

void Replica::record_gaps(const Iteration& iteration, Seconds start, Seconds end,
                          const std::vector<StepRun>& runs, std::int64_t steps) {
  const Seconds first = steps > 1 ? runs.front().first.time : end - start;
  double in_step =
      0;  // kept members whose last token came just when this began: all their gaps are step times
  for (const auto& member : iteration.members) {
    if (!member.yields || !recorder_.kept(member.request)) continue;
    const Seconds last = live_[position(member.request)].last_token;
    if (last < Seconds(0)) continue;  // its first token: no gap before it
    if (last == start || steps > 1) ++in_step;
    if (last == start) continue;
    if (steps > 1) recorder_.gaps().add(first, -1);  // counted below with the others
    recorder_.gaps().add(start + first - last, 1);
  }
  if (in_step == 0) return;
  if (steps == 1) {
    recorder_.gaps().add(first, in_step);
    return;
  }
  for (const StepRun& run : runs) {
    const std::int64_t n = std::min(steps, run.steps);
    if (n > 0) recorder_.gaps().add_run(run.first.time, run.slope.time, n, in_step);
    steps -= n;
  }
}

bool Replica::advance(std::size_t at, std::int64_t tokens, Seconds now) {
  SequenceView& view = running_[at];
  RequestRecord& record = recorder_.record(view.request);
  view.in_flight = false;
  view.known_tokens += tokens;
  live_[at].last_token = now;
  outstanding_tokens_ -= tokens;
  const bool first = record.first_token < Seconds(0);
  if (first) {
    record.first_token = now;
    outstanding_tokens_ -= view.input_tokens;
  }
  const std::int64_t left = record.request.output_tokens - (view.known_tokens - view.input_tokens);
  if (left > 0 && !(first && spec_->role == Role::prefill)) return false;
  --outstanding_requests_;
  outstanding_tokens_ -= left;
  if (left > 0) {
    handed_over_.emplace_back(view.request, view.blocks);
  } else {
    cache_.give(view.blocks);
    record.finished = now;
    record.status = RequestStatus::completed;
  }
  return true;
}

void Replica::complete(const Iteration& iteration, Seconds start, Seconds end,
                       const std::vector<StepRun>& runs, std::int64_t steps) {
  if (steps > 1) extend_blocks(iteration, steps - 1);
  account(end);
  recorder_.result().iterations += steps;
  recorder_.tokens(start, end, static_cast<double>(iteration.shape.sequences * steps));
  record_gaps(iteration, start, end, runs, steps);
  removed_.assign(running_.size(), 0);
  left_.clear();
  for (const auto& member : iteration.members) {
    if (!member.yields && spec_->engine.pipelined_chunks) continue;
    const std::size_t at = position(member.request);
    if (!member.yields) {
      running_[at].in_flight = false;
      continue;
    }
    if (!advance(at, steps, end)) continue;
    removed_[at] = 1;
    left_.push_back(member.request);
  }
  if (left_.empty()) return;
  remove_marked();
  blocks_then_ = static_cast<double>(cache_.used());
  for (const std::int32_t request : left_) {
    const bool done = recorder_.record(request).status == RequestStatus::completed;
    (done ? events_.finished : events_.hand_over)(request);
  }
}

void Replica::transfer_done(const KvTransfer& transfer, Seconds now) {
  account(now);
  if (transfer.kind == KvTransfer::Kind::swap_out) return;
  running_[position(transfer.request)].in_flight = false;
}

void Replica::release_handed_over(std::int32_t request, Seconds now) {
  account(now);
  for (auto& held : handed_over_) {
    if (held.first != request) continue;
    cache_.give(held.second);
    held = handed_over_.back();
    handed_over_.pop_back();
    break;
  }
  blocks_then_ = static_cast<double>(cache_.used());
}

}  // namespace weir
