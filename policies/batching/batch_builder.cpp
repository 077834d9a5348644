#include "policies/batching/batch_builder.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace weir {

BatchBuilder::BatchBuilder(const ServingView& view, const BatchLimits& limits, Admission admission,
                           Batch& batch)
    : view_(view),
      batch_(batch),
      admission_(admission),
      tokens_left_(limits.max_batch_tokens),
      // The batches in flight share the running requests evenly, as in Vidur (sarathi_replica_scheduler.py,
      // _max_micro_batch_size: batch_size_cap // num_stages); rounded up here, so that none is left over.
      sequences_left_(view.pipeline_stages == 1
                          ? limits.max_batch_requests
                          : blocks_for(limits.max_batch_requests, view.pipeline_stages)),
      seats_(limits.max_batch_requests - std::ssize(view.running) - view.leaving),
      free_blocks_(view.free_blocks.begin(), view.free_blocks.end()) {}

void BatchBuilder::run() {
  run(true);
}

void BatchBuilder::run_decodes() {
  run(false);
  find_unfinished_prompt(0);
}

void BatchBuilder::find_unfinished_prompt(std::int32_t from) {
  for (unfinished_prompt_ = from; unfinished_prompt_ < members(); ++unfinished_prompt_)
    if (running(unfinished_prompt_).prefilling() && !running(unfinished_prompt_).in_flight &&
        std::ranges::find(preempted_, unfinished_prompt_) == preempted_.end())
      return;
}

// Where decodes run, a prompt without blocks waits until one ends. Where none does, prompts may hold all
// blocks between them: the last ones give theirs to the first.
bool BatchBuilder::continue_prompt(std::int64_t tokens) {
  const bool alone = batch_.slices.empty();
  if (starved_ && !alone) return false;
  const std::int32_t index = unfinished_prompt_;
  ByChannel<std::int32_t> end(free_blocks_.size(), members());
  for (const std::int32_t gone : preempted_) end[at(running(gone))] = std::min(end[at(running(gone))], gone);
  bool taken = take(running(index), tokens);
  if (!taken && !alone) return false;
  while (!taken && make_room(index, end)) taken = take(running(index), tokens);
  batch_.valid.steps = 1;
  find_unfinished_prompt(taken ? index + 1 : members());
  return taken;
}

void BatchBuilder::run(bool prompts) {
  bool decodes_only = true;
  std::int32_t i = free_blocks_.size() == 1 ? run_ready_decodes<false>() : run_ready_decodes<true>();
  ByChannel<std::int32_t> end;  // of a channel: those from there on were preempted or are in flight
  if (i < members()) end.assign(free_blocks_.size(), members());
  for (; i < members() && !full(); ++i) {
    const SequenceView& sequence = running(i);
    if (sequence.in_flight || i >= end[at(sequence)]) continue;
    if (!prompts && sequence.prefilling()) continue;
    decodes_only &= !sequence.prefilling();
    const std::int64_t tokens = std::min(sequence.pending(), tokens_left_);
    if (positions(sequence, tokens) > tokens_left_) break;  // a decode has all of its drafts, or waits
    while (!take(sequence, tokens))
      if (!make_room(i, end)) break;
  }
  // Where the micro-batch is full, the same ones come first again, whoever is left over.
  if (decodes_only && !starved_ && !batch_.slices.empty()) batch_.valid.steps = Validity::unlimited;
}

// The leading decodes whose next token has a block, nearly always all of them; returns where it stopped. A
// loop of its own, on locals, because it is what a step costs: a third of the general one.
template <bool several_channels>
std::int32_t BatchBuilder::run_ready_decodes() {
  const std::int32_t members = this->members();
  const std::int64_t drafts = view_.drafts;
  const std::int64_t room = std::min<std::int64_t>({members, tokens_left_ / (1 + drafts), sequences_left_});
  std::int64_t only = free_blocks_[0];
  batch_.slices.resize(static_cast<std::size_t>(room));
  auto slice = batch_.slices.begin();
  std::int32_t i = 0;
  for (; i < members; ++i) {
    const SequenceView& sequence = running(i);
    if (sequence.in_flight) continue;
    std::int64_t& free_blocks = several_channels ? free_blocks_[at(sequence)] : only;
    const std::int64_t lacks = sequence.known_tokens + drafts - sequence.blocks * view_.block_tokens;
    const std::int64_t wanted = lacks > 0 ? 1 : 0;
    if (slice == batch_.slices.end() || sequence.prefilling() || lacks > view_.block_tokens ||
        wanted > free_blocks)
      break;
    free_blocks -= wanted;
    *slice++ = {sequence.request, 1};
  }
  const std::int64_t taken = slice - batch_.slices.begin();
  batch_.slices.resize(static_cast<std::size_t>(taken));
  tokens_left_ -= taken * (1 + drafts);
  sequences_left_ -= taken;
  if (!several_channels) free_blocks_[0] = only;
  return i;
}

// Preempts the last sequence of the channel before its `end` that is not in flight, and moves `end` there:
// those behind it are in flight. False if `index` itself must go, or wait for lower ones in flight, which
// vLLM would preempt: nobody behind it in its channel can run.
bool BatchBuilder::make_room(std::int32_t index, ByChannel<std::int32_t>& end) {
  starved_ = true;
  const std::size_t channel = at(running(index));
  std::int32_t victim = end[channel] - 1;
  bool in_flight = false;
  for (; victim > index; --victim) {
    if (at(running(victim)) != channel) continue;
    if (!running(victim).in_flight) break;
    in_flight = true;
  }
  end[channel] = victim;
  if (victim == index && in_flight) return false;
  give_up(victim, running(index).request, missing_);
  return victim != index;
}

// Preempted requests wait in the order in which they came, whatever their channel.
void BatchBuilder::give_up(std::int32_t index, std::int32_t to, std::int64_t blocks) {
  const std::size_t channel = at(running(index));
  const std::int64_t freed = view_.prefixes ? view_.prefixes->give_up(running(index)) : running(index).blocks;
  free_blocks_[channel] += freed;
  given_up_.resize(free_blocks_.size());
  given_up_[channel] += freed;
  ++changes_;
  if (!unreserved_.empty()) unreserved_[channel] += blocks_of(running(index)) - running(index).blocks + freed;
  ++seats_;
  const auto place = std::ranges::lower_bound(preempted_, index, std::greater<>()) - preempted_.begin();
  preempted_.insert(preempted_.begin() + place, index);
  batch_.preempted.insert(batch_.preempted.begin() + place, running(index).request);
  batch_.gave_way.push_back({running(index).request, to, blocks});
}

bool BatchBuilder::take(const SequenceView& sequence, std::int64_t tokens) {
  const std::int64_t blocks =
      blocks_for(sequence.computed_tokens + positions(sequence, tokens), view_.block_tokens);
  const std::int64_t wanted = std::max<std::int64_t>(0, blocks - sequence.blocks);
  std::int64_t& free_blocks = free_blocks_[at(sequence)];
  if (wanted > free_blocks) {
    batch_.valid.wakes_on.free_blocks = true;
    missing_ = wanted - free_blocks;
    return false;
  }
  free_blocks -= wanted;
  ++changes_;
  tokens_left_ -= positions(sequence, tokens);
  --sequences_left_;
  batch_.slices.push_back({sequence.request, tokens});
  return true;
}

const SequenceView* BatchBuilder::head() {
  const std::size_t next = batch_.admitted.size();
  return open() && next < view_.waiting.size() ? &look_up(view_.waiting[next]) : nullptr;
}

const SequenceView& BatchBuilder::look_up(const SequenceView& waiting) {
  if (!view_.prefixes) return waiting;
  if (found_at_ == changes_ && found_.request == waiting.request) return found_;
  const bool comes_whole = waiting.elsewhere && waiting.computed_tokens >= waiting.input_tokens;
  if (waiting.computed_tokens > 0 && !comes_whole) return waiting;
  const std::size_t pool = at(waiting);
  const std::int64_t given_up = given_up_.empty() ? 0 : given_up_[pool];
  const Prefixes::Found found =
      view_.prefixes->find(waiting, view_.free_blocks[pool] + given_up - free_blocks_[pool]);
  found_ = waiting;
  found_.blocks = found.held;
  if (!comes_whole) {
    found_.computed_tokens = found.tokens;
    found_.elsewhere = found.comes;
  }
  found_at_ = changes_;
  return found_;
}

std::int64_t BatchBuilder::claim(const SequenceView& sequence, std::int64_t tokens) const {
  const std::int64_t claimed = admission_ == Admission::chunk
                                   ? sequence.computed_tokens + positions(sequence, tokens)
                               : admission_ == Admission::prompt ? sequence.known_tokens + drafts_of(sequence)
                                                                 : sequence.final_tokens() + view_.drafts;
  return blocks_for(claimed, view_.block_tokens);
}

bool BatchBuilder::move_out(const SequenceView& sequence) {
  if (sequence.blocks > free_blocks_[0]) return false;
  free_blocks_[0] -= sequence.blocks;
  free_blocks_[spare_pool()] += sequence.blocks;
  batch_.moves.push_back({sequence.request, KvMemory::dealt});
  return true;
}

// The blocks in the host's memory are held until it is over.
bool BatchBuilder::move_in(const SequenceView& sequence, std::int64_t spare) {
  const std::int64_t wanted = claim(sequence, 1);
  if (wanted > unclaimed_blocks(spare_pool()) - spare) return false;
  if (!unreserved_.empty()) unreserved_[spare_pool()] -= wanted;
  free_blocks_[spare_pool()] -= wanted;
  batch_.moves.push_back({sequence.request, KvMemory::spare});
  return true;
}

void BatchBuilder::preempt(const SequenceView& sequence, std::int32_t to, std::int64_t blocks) {
  starved_ = batch_.valid.wakes_on.free_blocks = true;
  give_up(index_of(sequence), to, blocks);
}

bool BatchBuilder::preempted(const SequenceView& sequence) const {
  return std::ranges::find(preempted_, index_of(sequence)) != preempted_.end();
}

std::int64_t BatchBuilder::blocks_of(const SequenceView& sequence) const {
  return admission_ == Admission::sequence
             ? blocks_for(sequence.final_tokens() + view_.drafts, view_.block_tokens)
             : sequence.blocks;
}

std::int64_t BatchBuilder::lacks(const SequenceView& waiting, std::int64_t tokens) {
  const SequenceView& found = look_up(waiting);
  const bool alone = view_.running.empty() && batch_.admitted.empty();
  return claim(found, tokens) - found.blocks - unclaimed_blocks(at(found)) +
         (alone ? 0 : view_.watermark_blocks);
}

bool BatchBuilder::admit(const SequenceView& waiting, std::int64_t tokens, std::int64_t spare) {
  return admit_found(look_up(waiting), tokens, spare);
}

bool BatchBuilder::admit_found(const SequenceView& waiting, std::int64_t tokens, std::int64_t spare) {
  if (const std::int64_t lacking = lacks(waiting, tokens) + spare; lacking > 0) {
    batch_.valid.wakes_on.free_blocks = true;
    if (std::int32_t& first = batch_.valid.wakes_on.lacks_blocks; first < 0) {
      first = waiting.request;
      batch_.lacking = lacking;
    }
    return false;
  }
  if (!unreserved_.empty()) unreserved_[at(waiting)] -= claim(waiting, tokens) - waiting.blocks;
  --seats_;
  batch_.admitted.push_back(waiting.request);
  batch_.valid.steps = 1;
  admitted_.push_back(waiting);
  if (view_.prefixes) view_.prefixes->admit(waiting);
  return true;
}

bool BatchBuilder::add(const SequenceView& waiting, std::int64_t tokens, std::int64_t spare) {
  const SequenceView& found = look_up(waiting);
  if (found.elsewhere)
    tokens = std::min<std::int64_t>(tokens, 1);  // this step makes room for it, and no more
  return positions(found, tokens) <= tokens_left_ && admit_found(found, tokens, spare) && take(found, tokens);
}

void BatchBuilder::add_in_order() {
  while (const SequenceView* head = this->head())
    if (!add(*head, std::min(head->pending(), tokens_left_))) break;
}

std::int64_t BatchBuilder::unclaimed_blocks(std::size_t channel) {
  if (admission_ != Admission::sequence) return free_blocks_[channel];
  if (unreserved_.empty()) {
    unreserved_.assign(view_.free_blocks.begin(), view_.free_blocks.end());
    for (const SequenceView& sequence : view_.running)
      unreserved_[at(sequence)] += sequence.blocks - (preempted(sequence) ? 0 : blocks_of(sequence));
  }
  return unreserved_[channel];
}

bool LimitedBatching::serves(const Request& request, std::int64_t total_blocks,
                             std::int64_t block_tokens) const {
  return blocks_for(request.input_tokens + request.output_tokens - 1, block_tokens) <= total_blocks;
}

}  // namespace weir
