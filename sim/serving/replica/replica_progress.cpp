// How far a replica's batch can run on unchanged, and what the end of an iteration changes: tokens, gaps
// between them, blocks, who leaves.
#include <limits>
#include <numeric>
#include <utility>

#include "sim/serving/replica/replica.h"

namespace weir {

std::int64_t Replica::longest_run(Iteration& iteration) {
  if (draws_) return longest_drafted_run(iteration);
  std::int64_t steps = iteration.steps;
  if (steps == 1 || side_) return 1;  // each has other side loads
  const std::int64_t block = cache_.block_tokens();
  // After this iteration a sequence has computed_tokens; step j > 1 needs a new block whenever that count
  // crosses a block's end, so sequences are counted by the room left in their last block.
  thread_local std::vector<std::int64_t> by_room;  // of one channel after the other
  by_room.assign(static_cast<std::size_t>(block * cache_.channels()), 0);
  std::size_t next = 0;
  for (const auto& member : iteration.members) {
    const SequenceView& view = running_[position(member.request, next)];
    steps = std::min(steps, view.output_tokens - (view.known_tokens - view.input_tokens));
    ++by_room[static_cast<std::size_t>((pool(view) + view.blocks) * block - view.computed_tokens)];
  }
  // The run ends before it takes blocks that a waiting request would find (Replica::decide). Extra steps
  // beyond the first: whole blocks' worth first, then the residues one by one.
  auto rooms = by_room.begin();
  for (int channel = 0; channel < cache_.channels(); ++channel, rooms += block) {
    const std::int64_t n = std::accumulate(rooms, rooms + block, std::int64_t{0});
    if (n == 0) continue;
    const std::int64_t free = prefixes_.free_before_found(channel);
    std::int64_t extra = free / n * block;
    std::int64_t left = free % n;
    for (auto room = rooms; room < rooms + block && left >= *room; ++room) {
      left -= *room;
      ++extra;
    }
    steps = std::min(steps, 1 + extra);
  }
  return steps;
}

void Replica::extend_blocks(const Iteration& iteration, std::int64_t more_tokens) {
  std::size_t next = 0;
  for (const auto& member : iteration.members) {
    SequenceView& view = running_[position(member.request, next)];
    view.computed_tokens += more_tokens;
    take_blocks_for(view, view.computed_tokens);
  }
}

// The gap before a member's first token here, where it is not the step's time. True: those that follow are.
bool Replica::other_gap(Seconds last, Seconds start, Seconds first, std::int64_t steps) {
  if (last < Seconds(0)) return false;             // no gap before a first token
  if (steps > 1) recorder_.gaps().add(first, -1);  // counted with the others
  recorder_.gaps().add(start + first - last, 1);
  return steps > 1;
}

// Of `members` in each step.
void Replica::record_steps(double members, Seconds first, const std::vector<StepRun>& runs,
                           std::int64_t steps) {
  if (members == 0) return;
  if (steps == 1) return recorder_.gaps().add(first, members);
  for (const StepRun& run : runs) {
    const std::int64_t n = std::min(steps, run.steps);
    if (n > 0) recorder_.gaps().add_run(run.first.time, run.slope.time, n, members);
    steps -= n;
  }
}

// Each request's own, for detailed.json: in a run of steps all of them have the same gaps but the first.
void Replica::record_token_gaps(const Iteration& iteration, Seconds start, Seconds first,
                                const std::vector<StepRun>& runs, std::int64_t steps) {
  thread_local std::vector<double> times;  // of the steps
  times.clear();
  for (const StepRun& run : runs)
    for (std::int64_t i = 0; i < run.steps && std::ssize(times) < steps; ++i)
      times.push_back((run.first.time + static_cast<double>(i) * run.slope.time).value());
  std::size_t next = 0;
  for (const auto& member : iteration.members) {
    if (!member.yields || !recorder_.kept(member.request)) continue;
    const Seconds last = last_tokens_[position(member.request, next)];
    if (last >= Seconds(0))
      recorder_.token_gap(member.request, (front_end_.seen(start) + first - last).value());
    for (std::int64_t i = 1; i < steps; ++i)
      recorder_.token_gap(member.request, times[static_cast<std::size_t>(i)]);
  }
}

void Replica::first_token(const SequenceView& view, Seconds seen, Seconds now) {
  recorder_.record(view.request).first_token = seen;
  outstanding_tokens_ -= view.input_tokens;
  for (ReplicaListener* listener : listeners_) listener->first_token(view.request, seen, now);
}

// It has all the tokens that it gets here: it ends, or goes on elsewhere.
void Replica::leave(const SequenceView& view, Seconds seen, Seconds now) {
  RequestRecord& record = recorder_.record(view.request);
  const std::int64_t left = record.request.output_tokens - view.output_tokens;
  --outstanding_requests_;
  outstanding_tokens_ -= left;
  for (ReplicaListener* listener : listeners_) listener->left(view.request, left > 0, seen, now);
  if (publishes()) {
    publish(view);
    cache_.held_blocks(pool(view)).note(view.request);
  }
  if (tiers_.any() && left == 0) store(view);
  if (left > 0) {
    held_.push_back({view.request, view.blocks, pool(view)});
    return;
  }
  if (spec_->scheduled_ahead == 0)
    cache_.give(view.request, view.blocks, pool(view));
  else
    leaving_.push_back({view.request, view.blocks, pool(view), decisions_ + 1 + spec_->scheduled_ahead});
  if (side_) side_->forget(view.request);
  record.finished = seen;
  recorder_.phase(view.request, now, nullptr);
  record.status = RequestStatus::completed;
}

// Its tokens of the iteration, the last of which the client sees at `seen`; marks it if it leaves.
inline void Replica::give(std::size_t at, Seconds seen, Seconds end, std::int64_t tokens) {
  SequenceView& view = running_[at];
  recorder_.phase(view.request, end, "decode");
  if (view.known_tokens == view.input_tokens) {
    first_token(view, seen, end);
    if (tiers_.any()) store(view);
  }
  view.known_tokens += tokens;
  if (view.known_tokens < view.input_tokens + view.output_tokens) return;
  leave(view, seen, end);
  removed_[at] = 1;
  left_.push_back(view.request);
}

// Marks those that leave. Returns how many have gaps that are the step's time. Most members have neither
// their first nor their last token here: then their records, which lie far from each other, are left alone.
double Replica::advance(const Iteration& iteration, Seconds start, Seconds end, Seconds first,
                        std::int64_t steps) {
  double in_step = 0;
  std::int64_t tokens = 0;
  removed_.assign(running_.size(), 0);
  left_.clear();
  const Seconds seen_before = front_end_.seen(start), seen = front_end_.seen(end);
  std::size_t next = 0;
  for (const auto& member : iteration.members) {
    if (!member.yields && spec_->engine.pipelined_chunks) continue;
    const std::size_t at = position(member.request, next);
    running_[at].in_flight = false;
    if (!member.yields) continue;
    const std::int64_t of_it = given(static_cast<std::size_t>(&member - iteration.members.data()), steps);
    tokens += of_it;
    const Seconds last = std::exchange(last_tokens_[at], seen);
    if (recorder_.kept(member.request))
      in_step += last == seen_before || other_gap(last, seen_before, first, steps);
    give(at, seen, end, of_it);
  }
  outstanding_tokens_ -= tokens - std::exchange(passed_tokens_, 0);
  return in_step;
}

// The same where tokens leave one by one: those of a step in the order of its members, at its turn. A member
// that has several of one step is seen to have them with the last.
void Replica::advance_in_turn(const Iteration& iteration, std::span<const Seconds> turns, Seconds end) {
  std::int64_t before = 0;
  removed_.assign(running_.size(), 0);
  left_.clear();
  std::size_t next = 0;
  for (const auto& member : iteration.members) {
    const std::size_t at = position(member.request, next);
    running_[at].in_flight = false;
    if (!member.yields) continue;
    const std::int64_t of_it = given(static_cast<std::size_t>(&member - iteration.members.data()), 1);
    const Seconds seen = front_end_.seen(turns.back(), before + of_it - 1);
    const Seconds last = std::exchange(last_tokens_[at], seen);
    if (recorder_.kept(member.request)) record_turns(member.request, last, before + of_it - 1, turns);
    give(at, seen, end, of_it * std::ssize(turns));
    before += of_it;
  }
  outstanding_tokens_ -= before * std::ssize(turns) - std::exchange(passed_tokens_, 0);
}

// Gaps between a member's tokens that leave with so many before each, one in each turn.
void Replica::record_turns(std::int32_t request, Seconds last, std::int64_t before,
                           std::span<const Seconds> turns) {
  const auto gap = [&](Seconds length) {
    recorder_.gaps().add(length, 1);
    if (recorder_.keeps_token_gaps()) recorder_.token_gap(request, length.value());
  };
  if (last >= Seconds(0)) gap(front_end_.seen(turns.front(), before) - last);
  for (std::size_t i = 1; i < turns.size(); ++i) gap(turns[i] - turns[i - 1]);
}

// Requests that are routed meanwhile find the tokens of these steps gone.
void Replica::pass(std::int64_t more_steps, std::int64_t decodes) {
  decisions_ += more_steps;
  passed_tokens_ = more_steps * decodes;
  outstanding_tokens_ -= passed_tokens_;
}

void Replica::complete(const Iteration& iteration, Seconds start, Seconds end,
                       const std::vector<StepRun>& runs, std::int64_t steps) {
  pass(steps - 1, 0);
  complete_passed(iteration, start, end, runs, steps);
}

void Replica::complete_passed(const Iteration& iteration, Seconds start, Seconds end,
                              const std::vector<StepRun>& runs, std::int64_t steps) {
  std::int64_t tokens = iteration.shape.sequences * steps;
  if (draws_)
    tokens = take_drafts(iteration, steps);
  else if (steps > 1)
    extend_blocks(iteration, steps - 1);
  if (times_ && iteration.shape.prefill_tokens > 0)
    times_->observe(iteration.sub_batches.empty() ? std::span(&iteration.shape, 1) : iteration.sub_batches);
  account(end);
  preempted_ = 0;
  recorder_.tokens(start, end, static_cast<double>(tokens));
  const Seconds first = steps > 1 ? runs.front().first.time : end - start;
  if (front_end_.one_by_one()) {
    const Seconds turn = steps > 1 ? Seconds(0) : front_end_.turn(end, tokens);
    const std::span one(&turn, 1);
    advance_in_turn(iteration,
                    steps > 1 ? front_end_.turns(start, runs, steps, iteration.shape.sequences) : one, end);
  } else {
    if (recorder_.keeps_token_gaps()) record_token_gaps(iteration, start, first, runs, steps);
    record_steps(advance(iteration, start, end, first, steps), first, runs, steps);
  }
  if (!listeners_.empty() && (iteration.shape.prefill_tokens > 0 || !left_.empty())) tell_kept(end);
  if (left_.empty()) return send_stores();
  remove_marked();
  if (nothing_runs()) catch_up(true);
  blocks_then_ = static_cast<double>(cache_.used());
  for (const std::int32_t request : left_) {
    const bool done = recorder_.record(request).status == RequestStatus::completed;
    (done ? events_.finished : events_.hand_over)(request);
  }
  send_stores();
}

void Replica::arrived(const KvMove& move, Seconds now) {
  account(now);
  if (move.leaves_device()) return;
  if (const auto one = std::ranges::find(withdrawn_, move.request);
      move.hands_over() && one != withdrawn_.end()) {
    withdrawn_.erase(one);
    return;
  }
  const std::size_t at = position(move.request);
  SequenceView& view = running_[at];
  if (move.hands_over()) last_tokens_[at] = recorder_.record(move.request).first_token;
  view.in_flight = false;
  if (loads_.erase(move.request) > 0 || (move.hands_over() && publishes())) publish(view);
  recorder_.phase(move.request, now, doing(view));
  for (ReplicaListener* listener : listeners_) listener->arrived(move, now);
  if (!move.from.in_host) return;
  if (spare_channel() < 0) swapped_ -= cache_.blocks_for(move.tokens);
  release_held(move.request, now);
}

void Replica::release_held(std::int32_t request, Seconds now) {
  account(now);
  for (auto& held : held_) {
    if (held.request != request) continue;
    cache_.give(request, held.blocks, held.pool);
    held = held_.back();
    held_.pop_back();
    break;
  }
  blocks_then_ = static_cast<double>(cache_.used());
}

}  // namespace weir
