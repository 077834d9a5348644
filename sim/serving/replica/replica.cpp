#include "sim/serving/replica/replica.h"

#include <utility>

#include "sim/plan/servable.h"

namespace weir {

Replica::Replica(int index, const ReplicaPlan& plan, std::vector<std::int32_t>& positions, Recorder& recorder,
                 Events events)
    : index_(index),
      plan_(&plan),
      spec_(&plan.spec),
      cache_(plan.kv_pools.blocks, plan.spec.kv_cache.block_tokens),
      positions_(positions),
      recorder_(recorder),
      events_(std::move(events)) {}

bool Replica::fits(const Request& r) const {
  return can_serve(*plan_, r);
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
  view.priority = r.priority;
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
  view.priority = r.priority;
  view.request = request;
  view.elsewhere = true;
  waiting_.push_back(view, {.last_token = now, .resident = r.input_tokens, .resident_at = from_replica});
  RequestRecord& record = recorder_.record(request);
  if (record.first_token >= Seconds(0)) record.replica = index_;
  show(request, now, "queued");
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

// Preempted ones stand in front of those that never ran.
void Replica::find_left_blocks() {
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    SequenceView& view = waiting_.view(i);
    if (!waiting_.live(i).preempted) break;
    if (waiting_.live(i).resident == 0) view.computed_tokens = cache_.found(view.request, pool(view));
  }
}

bool Replica::schedule(Seconds now, Iteration& iteration) {
  account(now);
  iteration.clear();
  kv_limited_ = false;
  if (empty()) return false;
  if (plan_->kv_pools.several_channels()) place_waiting();
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
                         .pools = plan_->kv_pools.of_channel,
                         .spare_channel = spare_channel()},
                        batch_);
  carry_out(now, iteration);
  if (iteration.moves.empty()) iteration.steps = std::min(batch_.valid.steps, placement_.steps);
  // Whoever was refused for his blocks waits for them until he is admitted: in a static batch to its end, as
  // he would be in it.
  const bool lacks_blocks = batch_.valid.wakes_on.free_blocks;
  if (lacks_blocks) refused_ = batch_.valid.wakes_on.lacks_blocks;
  if (lacks_blocks && refused_ < 0 && !waiting_.empty()) refused_ = waiting_.view(0).request;
  kv_limited_ = lacks_blocks || refused_ >= 0;
  blocks_then_ = static_cast<double>(cache_.used());
  return !iteration.members.empty() || !iteration.moves.empty() || !batch_.preempted.empty();
}

}  // namespace weir
