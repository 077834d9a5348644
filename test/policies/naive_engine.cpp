#include "test/policies/naive_engine.h"
#include "test/policies/make_policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace weir {

std::string NaiveScenario::text() const {
  return fmt::format(
      "{} {} requests {} tokens {} blocks {}x{}x{} admission {} stages {} swap {} arrivals {} inputs {} "
      "outputs {} priorities {}",
      kind, keys.dump(), max_batch_requests, max_batch_tokens, channels, total_blocks, block_tokens,
      static_cast<int>(admission), pipeline_stages, swap, arrivals, inputs, outputs, priorities);
}

std::shared_ptr<const BatchingPolicy> make_policy(const std::string& kind, std::int64_t requests,
                                                  std::int64_t tokens, const Json& keys) {
  Json json = {{"kind", kind}, {"max_batch_requests", requests}, {"max_batch_tokens", tokens}};
  json.update(keys);
  return policy_of(batching_policies(), json);
}

Seconds NaiveTimes::prefill_attention(std::span<const PrefillChunk> chunks) const {
  Seconds sum(0);
  for (const PrefillChunk& c : chunks)
    sum += Seconds(static_cast<double>(c.tokens) * static_cast<double>(2 * c.context + c.tokens) / 2000);
  return sum;
}

Seconds NaiveTimes::batched(std::int64_t prompt_tokens, std::int64_t decodes) const {
  return Seconds(std::max(2.0, static_cast<double>(prompt_tokens + decodes) / 8));
}

Seconds NaiveTimes::offloaded(const OffloadedWork& work) const {
  std::map<int, std::int64_t> tokens{{0, 0}};
  for (const DecodeContext& context : work.contexts) tokens[context.channel] += context.tokens;
  std::int64_t most = 0;
  for (const auto& [channel, sum] : tokens) most = std::max(most, sum);
  return Seconds(static_cast<double>(most) / 20 + static_cast<double>(work.prompt_tokens) / 50);
}

Seconds NaiveTimes::decode_attention(std::span<const DecodeContext> own) const {
  std::int64_t tokens = 0;
  for (const DecodeContext& decode : own) tokens += decode.tokens;
  return Seconds(static_cast<double>(tokens) / 100);
}

NaiveEngine::NaiveEngine(NaiveScenario scenario)
    : outcomes(scenario.inputs.size()),
      scenario_(std::move(scenario)),
      policy_(make_policy(scenario_.kind, scenario_.max_batch_requests, scenario_.max_batch_tokens,
                          scenario_.keys)),
      epoch_(scenario_.inputs.size()),
      chunks_(scenario_.inputs.size()),
      free_(static_cast<std::size_t>(scenario_.channels), scenario_.total_blocks) {
  if (scenario_.own_blocks > 0) free_.push_back(scenario_.own_blocks);
}

void NaiveEngine::demand(bool holds, const std::string& law) const {
  if (!holds) throw LawBroken(fmt::format("tick {}: {}", tick_, law));
}

ServingView NaiveEngine::view() const {
  return {running_,
          waiting_,
          free_,
          scenario_.total_blocks,
          scenario_.block_tokens,
          scenario_.admission,
          scenario_.pipeline_stages,
          &times_,
          {},
          scenario_.own_blocks > 0 ? 1 : -1};
}

std::int64_t NaiveEngine::held_blocks(std::int64_t channel) const {
  std::int64_t held = 0;
  for (const SequenceView& sequence : running_)
    if (sequence.channel == channel) held += sequence.blocks;
  return held;
}

const SequenceView* NaiveEngine::named(std::span<const SequenceView> sequences, std::int32_t request) {
  const auto at = std::ranges::find(sequences, request, &SequenceView::request);
  return at == sequences.end() ? nullptr : &*at;
}

std::size_t NaiveEngine::running_at(std::int32_t request) const {
  return static_cast<std::size_t>(std::ranges::find(running_, request, &SequenceView::request) -
                                  running_.begin());
}

std::int16_t NaiveEngine::draw_channel() {
  return static_cast<std::int16_t>(dice_(0, scenario_.channels - 1));
}

void NaiveEngine::run() {
  // Generous: every token alone in a step, everything recomputed again and again.
  std::int64_t patience = 10'000;
  for (std::size_t i = 0; i < scenario_.inputs.size(); ++i)
    patience += 50 * (scenario_.inputs[i] + scenario_.outputs[i]) * (1 + std::ssize(scenario_.inputs));
  while (step()) demand(tick_ < patience, "livelock");
}

bool NaiveEngine::step() {
  arrive();
  end_moves();
  if (scenario_.own_blocks > 0) place_waiting();
  const ServingView now = view();
  last.clear();
  if (std::ssize(flying_) < scenario_.pipeline_stages) {
    policy_->next(now, last);
    check(now, last);
    check_repetition(last);
    carry_out(last);
  }
  back_.reset();
  const bool all_came = arrived_ == scenario_.inputs.size();
  if (last.slices.empty() || std::ssize(flying_) == scenario_.pipeline_stages) {
    if (!flying_.empty()) {
      if (tick_ % 3 != 0) come_back();  // now and then a step takes longer, and requests arrive meanwhile
    } else {
      const bool over = all_came && on_their_way_.empty() && last.moves.empty() && last.preempted.empty();
      demand(!over || (running_.empty() && waiting_.empty()), "deadlock: nothing in flight, nothing decided");
      if (over) return false;
    }
  }
  ++tick_;
  return true;
}

void NaiveEngine::arrive() {
  for (; arrived_ < scenario_.inputs.size() && scenario_.arrivals[arrived_] <= tick_; ++arrived_) {
    const Request request{{}, scenario_.inputs[arrived_], scenario_.outputs[arrived_]};
    const std::int64_t largest = std::max(scenario_.total_blocks, scenario_.own_blocks);
    if (!policy_->serves(request, largest, scenario_.block_tokens)) {
      outcomes[arrived_].rejected = true;
      continue;
    }
    const auto woken = [](const Flying& flying) { return flying.decision.valid.wakes_on.any_arrival; };
    if (waiting_.empty() || std::ranges::any_of(flying_, woken) || (back_ && woken(*back_))) {
      disturbed_ = ++events_;
      was_empty_ = false;
    } else if (was_empty_ || (!flying_.empty() && flying_.back().repeatable)) {
      ++blocked_arrivals_checked;  // may change nothing
    }
    waiting_.push_back(
        {request.input_tokens, request.output_tokens, request.input_tokens, 0, 0, false, 0, 0});
    if (!scenario_.priorities.empty()) waiting_.back().priority = scenario_.priorities[arrived_];
    waiting_.back().request = static_cast<std::int32_t>(arrived_);
    waiting_.back().channel = draw_channel();
  }
}

void NaiveEngine::preempt(const Batch& batch) {
  demand(batch.gave_way.size() == batch.preempted.size(), "each that is preempted has its reason");
  for (const Batch::GaveWay& gave_way : batch.gave_way)
    demand(std::ranges::find(batch.preempted, gave_way.request) != batch.preempted.end(),
           "the reason of one that is preempted");
  for (const std::int32_t id : batch.preempted) {
    const std::size_t at = running_at(id);
    SequenceView sequence = running_[at];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
    free_of(sequence) += sequence.blocks;
    sequence.blocks = 0;
    sequence.channel = draw_channel();
    if (scenario_.swap) {
      // A chunk in flight is lost with the swap in this engine: it goes back to what has come back.
      std::int64_t lost = 0;
      for (const Flying& f : flying_)
        for (std::size_t k = 0; k < f.epochs.size(); ++k)
          if (f.decision.slices[k].request == id && f.epochs[k] == epoch_[static_cast<std::size_t>(id)])
            lost += f.decision.slices[k].tokens;
      sequence.computed_tokens -= lost;
      sequence.elsewhere = sequence.computed_tokens > 0;
      chunks_[static_cast<std::size_t>(id)] -= std::min(lost, chunks_[static_cast<std::size_t>(id)]);
    } else {
      sequence.computed_tokens = 0;
    }
    ++epoch_[static_cast<std::size_t>(id)];
    ++preemptions;
    ++outcomes[static_cast<std::size_t>(id)].preemptions;
    waiting_.insert(waiting_.begin(), sequence);
  }
}

void NaiveEngine::carry_out(const Batch& batch) {
  move(batch);
  was_empty_ = batch.slices.empty() && batch.preempted.empty() && batch.admitted.empty() &&
               batch.moves.empty() && !batch.valid.wakes_on.any_arrival;
  if (batch.valid.steps == 1 && (back_ || !batch.slices.empty())) disturbed_ = ++events_;
  for (const std::int32_t id : batch.admitted) {
    SequenceView sequence = *named(waiting_, id);
    std::erase_if(waiting_, [id](const SequenceView& waits) { return waits.request == id; });
    if (sequence.computed_tokens == 0) {
      sequence.prefill_target = sequence.known_tokens;
      chunks_[static_cast<std::size_t>(id)] = 0;
    }
    if (epoch_[static_cast<std::size_t>(id)] == 0) admission_order.push_back(id);
    sequence.elsewhere = false;
    running_.push_back(sequence);
  }
  preempt(batch);
  // Who waits may be placed elsewhere in the next tick, as blocks of the GPU's own memory are taken.
  const bool may_be_placed_anew =
      scenario_.own_blocks > 0 && scenario_.admission != Admission::sequence && !waiting_.empty();
  Flying flying{{}, {}, batch.valid.steps > 1 && !may_be_placed_anew, ++events_, batch};
  for (const Slice& slice : batch.slices) {
    const std::int32_t id = slice.request;
    SequenceView& sequence = running_[running_at(id)];
    auto& outcome = outcomes[static_cast<std::size_t>(id)];
    if (outcome.first_scheduled < 0) outcome.first_scheduled = tick_;
    if (sequence.prefilling()) chunks_[static_cast<std::size_t>(id)] += slice.tokens;
    sequence.computed_tokens += slice.tokens;
    const std::int64_t wanted = ceil_div(sequence.computed_tokens, scenario_.block_tokens) - sequence.blocks;
    if (wanted > 0) {
      free_of(sequence) -= wanted;
      sequence.blocks += wanted;
    }
    demand(free_of(sequence) >= 0, "promises KV blocks that are not there");
    sequence.in_flight = sequence.pending() == 0;
    flying.epochs.push_back(epoch_[static_cast<std::size_t>(id)]);
    flying.reaches.push_back(sequence.computed_tokens);
  }
  for (std::int64_t c = 0; c < std::ssize(free_); ++c) {
    std::int64_t held = held_blocks(c);
    for (const OnItsWay& leaving : on_their_way_) held += c == 0 ? leaving.host_blocks : 0;
    demand(free_[static_cast<std::size_t>(c)] + held ==
               (c < scenario_.channels ? scenario_.total_blocks : scenario_.own_blocks),
           "KV blocks lost");
    demand(free_[static_cast<std::size_t>(c)] >= 0, "KV blocks that are not there");
  }
  if (!batch.slices.empty()) flying_.push_back(std::move(flying));
}

void NaiveEngine::come_back() {
  back_ = std::move(flying_.front());
  flying_.pop_front();
  was_empty_ = false;
  for (std::size_t k = 0; k < back_->epochs.size(); ++k) {
    const std::int32_t id = back_->decision.slices[k].request;
    const auto r = static_cast<std::size_t>(id);
    if (back_->epochs[k] != epoch_[r]) continue;  // preempted meanwhile
    const std::size_t at = running_at(id);
    SequenceView& sequence = running_[at];
    if (back_->reaches[k] < sequence.known_tokens) continue;  // a chunk, not the last one
    if (outcomes[r].generated == 0 || back_->reaches[k] == sequence.prefill_target)
      demand(chunks_[r] == sequence.prefill_target, "the chunks do not add up to the prompt");
    ++outcomes[r].generated;
    ++sequence.known_tokens;
    sequence.in_flight = false;
    if (outcomes[r].generated < sequence.output_tokens) continue;
    outcomes[r].finished = tick_;
    disturbed_ = ++events_;
    free_of(sequence) += sequence.blocks;
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

}  // namespace weir
