#include "sim/serving/replica/replica.h"

#include <algorithm>
#include <utility>

#include "sim/plan/servable.h"

namespace weir {
namespace {

// Others find a request's text on replicas that compute prompts, where it stays in one memory.
const Contents& found_by_others(const ReplicaSpec& spec, const Contents& contents) {
  return spec.shares_prefixes() ? contents : nothing_shared();
}

KvCache::Index index_of(const ReplicaSpec& spec) {
  return spec.prefix_index() == PrefixIndex::radix_tree ? KvCache::Index::radix_tree : KvCache::Index::blocks;
}

bool loads_beside_steps(const ReplicaSpec& spec) {
  return !spec.kv_cache.tiers.empty() && spec.kv_cache.tiers[0].loads == KvTierSpec::Loads::overlapped;
}

// A drafting layer needs the hidden states of the last full block that is found: it is computed again
// (vllm/v1/core/single_type_kv_cache_manager.py, use_eagle, which MTP sets too).
std::int64_t recomputed_blocks(const ReplicaSpec& spec) {
  return spec.drafts() > 0 && spec.speculative->drafting.by == Drafting::By::layer ? 1 : 0;
}

}  // namespace

Replica::Replica(int index, const ReplicaPlan& plan, std::vector<std::int32_t>& positions, Recorder& recorder,
                 Events events, const Contents& contents, std::vector<std::shared_ptr<KvTier>> tiers)
    : index_(index),
      plan_(&plan),
      spec_(&plan.spec),
      cache_(plan.kv_pools.blocks, plan.spec.kv_cache.block_tokens, index_of(plan.spec)),
      tiers_(plan.spec.shares_prefixes() ? std::move(tiers) : std::vector<std::shared_ptr<KvTier>>(),
             contents, plan.spec.kv_cache.tiers.empty() ? 1 : plan.spec.kv_cache.tiers[0].chunk_tokens),
      prefixes_(cache_, tiers_, loads_beside_steps(plan.spec), plan.spec.role == Role::decode,
                found_by_others(plan.spec, contents), plan.kv_pools.of_channel, recomputed_blocks(plan.spec),
                [this](std::int32_t text) { write_up(text); }),
      front_end_(plan.spec.front_end, recorder.reply()),
      positions_(positions),
      recorder_(recorder),
      events_(std::move(events)) {
  if (drafts() > 0) draws_.emplace(spec_->speculative, plan.seed);
}

bool Replica::fits(const Request& r) const {
  return can_serve(*plan_, r);
}

// A prefill replica hands over with the first token: the others never lie in its cache.
std::int64_t Replica::generated_here(const Request& r) const {
  return spec_->role == Role::prefill ? 1 : r.output_tokens;
}

bool Replica::accept(std::int32_t request, Seconds now) {
  RequestRecord& record = recorder_.record(request);
  record.replica = index_;
  const Request& r = record.request;
  if (!fits(r)) {
    record.status = RequestStatus::rejected;
    return false;
  }
  recorder_.phase(request, now, "front end");
  for (ReplicaListener* listener : listeners_) listener->accepted(request, now);
  ++outstanding_requests_;
  outstanding_tokens_ += r.input_tokens + r.output_tokens;
  return true;
}

void Replica::enqueue_accepted(std::int32_t request, Seconds now, std::int64_t steps_over) {
  enqueue(request, 0, now, steps_over);
}

bool Replica::enqueue(std::int32_t request, Seconds now) {
  const bool accepted = accept(request, now);
  if (accepted) enqueue_accepted(request, now);
  return accepted;
}

bool Replica::enqueue_in_generation(std::int32_t request, Seconds now) {
  const bool accepted = accept(request, now);
  if (accepted) enqueue(request, recorder_.record(request).request.input_tokens - 1, now, 0);
  return accepted;
}

// The first decision that sees who comes now. The steps that are decided already have no place for it. An
// attention-data rank that runs along with nothing to run looks before every step, as the interval counts
// steps of decodes.
std::int64_t Replica::seen_by(std::int64_t steps_over) const {
  const std::int64_t every = running_.empty() ? 1 : spec_->recv_interval, next = decisions_ + steps_over + 1;
  const std::int64_t seen =
      received_ + (next - received_ + every - 1) / every * every + spec_->scheduled_ahead;
  return (seen + spec_->prompt_interval - 1) / spec_->prompt_interval * spec_->prompt_interval;
}

std::int64_t Replica::steps_until_seen() const {
  std::int64_t until = Validity::unlimited;
  if (!overlooked_.empty()) until = overlooked_.front().until - decisions_;
  if (!leaving_.empty()) until = std::min(until, leaving_.front().until - decisions_);
  return until;
}

std::int64_t Replica::held_blocks() const {
  std::int64_t blocks = cache_.used();
  for (const Leaving& ended : leaving_) blocks -= ended.blocks;
  return blocks;
}

void Replica::join_queue(const SequenceView& view, const Live& live, std::int64_t steps_over, Seconds now) {
  for (ReplicaListener* listener : listeners_)
    listener->queued(view.request, static_cast<std::int64_t>(waiting_.size() + overlooked_.size()), now);
  if (sees_at_once()) return waiting_.push_back(view, live);
  overlooked_.push_back({view, live, seen_by(steps_over)});
}

// An engine with nothing under way sees all.
void Replica::catch_up(bool with_all) {
  const auto due = [&](std::int64_t until) { return with_all || until <= decisions_ + 1; };
  for (; !overlooked_.empty() && due(overlooked_.front().until); overlooked_.pop_front())
    waiting_.push_back(overlooked_.front().view, overlooked_.front().live);
  for (; !leaving_.empty() && due(leaving_.front().until); leaving_.pop_front())
    cache_.give(leaving_.front().request, leaving_.front().blocks, leaving_.front().pool);
}

void Replica::enqueue(std::int32_t request, std::int64_t computed, Seconds now, std::int64_t steps_over) {
  const Request& r = recorder_.record(request).request;
  account(now);
  SequenceView view{};
  view.input_tokens = view.known_tokens = view.prefill_target = r.input_tokens;
  view.output_tokens = generated_here(r);
  view.priority = r.priority;
  if (computed > 0) view.computed_tokens = view.prefill_target = computed;
  view.request = request;
  join_queue(view, {}, steps_over, now);
  tell_waiting(now);
  recorder_.phase(request, now, "queued");
}

void Replica::renew_handover(std::int32_t request, int from_replica, Seconds now, std::int64_t steps_over) {
  account(now);
  const Request& r = recorder_.record(request).request;
  SequenceView view{};
  view.input_tokens = view.computed_tokens = view.prefill_target = r.input_tokens;
  view.known_tokens = r.input_tokens + 1;
  view.output_tokens = r.output_tokens;
  view.priority = r.priority;
  view.request = request;
  view.elsewhere = true;
  join_queue(view, {.last_token = now, .resident = r.input_tokens, .resident_at = from_replica}, steps_over,
             now);
  tell_waiting(now);
  RequestRecord& record = recorder_.record(request);
  if (record.first_token >= Seconds(0)) record.replica = index_;
  show(request, now, "queued");
}

void Replica::enqueue_handover(std::int32_t request, int from_replica, Seconds now, std::int64_t steps_over) {
  renew_handover(request, from_replica, now, steps_over);
  ++outstanding_requests_;
  outstanding_tokens_ += recorder_.record(request).request.output_tokens - 1;
}

void Replica::withdraw_handover(std::int32_t request, Seconds now) {
  account(now);
  if (refused_ == request) refused_ = -1;
  const std::size_t at = position(request);
  if (at < running_.size() && running_[at].request == request) {
    cache_.give(request, running_[at].blocks, pool(running_[at]));
    blocks_then_ = static_cast<double>(cache_.used());
    withdrawn_.push_back(request);
    removed_.assign(running_.size(), 0);
    removed_[at] = 1;
    remove_marked();
  } else if (std::erase_if(overlooked_, [&](const Overlooked& o) { return o.view.request == request; }) ==
             0) {
    waiting_.take(request);
  }
  tell_waiting(now);
}

bool Replica::withdrawn(std::int32_t request) const {
  return std::ranges::find(withdrawn_, request) != withdrawn_.end();
}

// A request whose prompt is computed elsewhere yet is drawn there.
void Replica::show(std::int32_t request, Seconds now, const char* phase) {
  const bool elsewhere = spec_->role == Role::decode && recorder_.record(request).first_token < Seconds(0);
  if (!elsewhere) recorder_.phase(request, now, phase);
}

void Replica::add_used(WorkingSet& uses) const {
  uses.add(*this);
  uses.add(running_);
  uses.add(last_tokens_);
  uses.add(removed_);
  uses.add(batch_.slices);
  cache_.add_used(uses);
}

void Replica::account(Seconds now) {
  const auto blocks = static_cast<double>(cache_.used());
  recorder_.queue(accounted_, now, static_cast<std::int64_t>(running_.size()),
                  static_cast<std::int64_t>(waiting_.size() + overlooked_.size()),
                  (blocks_then_ + blocks) / 2, kv_limited_);
  accounted_ = std::max(accounted_, now);
  blocks_then_ = blocks;
}

bool Replica::schedule(Seconds now, Iteration& iteration) {
  account(now);
  if (running_.empty()) received_ = decisions_ + 1;
  catch_up(nothing_runs());
  if (decide(now, iteration)) return true;
  if ((overlooked_.empty() && leaving_.empty()) || !nothing_runs()) return false;
  catch_up(true);
  return decide(now, iteration);
}

bool Replica::decide(Seconds now, Iteration& iteration) {
  iteration.clear();
  kv_limited_ = false;
  if (empty()) return false;
  if (plan_->kv_pools.several_channels()) place_waiting();
  batch_.clear();
  prefixes_.begin();
  const bool caches = spec_->kv_cache.prefix_caching != PrefixCaching::none;
  const ServingView view{.running = running_,
                         .waiting = waiting_.views(),
                         .free_blocks = cache_.free_by_channel(),
                         .total_blocks = cache_.largest(),
                         .block_tokens = cache_.block_tokens(),
                         .admission = spec_->kv_cache.admission,
                         .pipeline_stages = spec_->parallelism.pipeline,
                         .times = times_.get(),
                         .pools = plan_->kv_pools.of_channel,
                         .spare_channel = spare_channel(),
                         .leaving = std::ssize(leaving_),
                         .drafts = drafts(),
                         .prefixes = caches ? &prefixes_ : nullptr,
                         .watermark_blocks = static_cast<std::int64_t>(spec_->kv_cache.watermark *
                                                                       static_cast<double>(cache_.largest())),
                         .order = recorder_.order()};
  spec_->batching->next(view, batch_);
  for (ReplicaListener* listener : listeners_) listener->decided(*this, view, batch_, now);
  carry_out(now, iteration);
  // A request that was not admitted may need fewer blocks once some that it would find are gone, as a chunk
  // of its prompt begins sooner, or once there are more. So a run ends with the step that changes what it
  // finds, and before the next that would (longest_run).
  if (iteration.moves.empty() && prefixes_.unchanged() &&
      !prefixes_.finds_more([this](Origin origin) { return writes(origin); }))
    iteration.steps = std::min(batch_.valid.steps, placement_.steps);
  decisions_ += !iteration.members.empty();
  iteration.number = decisions_;
  for (ReplicaListener* listener : listeners_) listener->begins(iteration, now);
  if (iteration.shape.prefill_tokens > 0) received_ = decisions_ + 1;
  if (!overlooked_.empty())
    iteration.steps = std::min(iteration.steps, overlooked_.front().until - decisions_);
  if (!leaving_.empty()) iteration.steps = std::min(iteration.steps, leaving_.front().until - decisions_);
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
