// NEO (MLSys '25, arXiv 2411.01142): prompts and decodes whose KV cache lies in the GPU's own memory, and
// beside them as many of those with theirs in the host's memory, attended to by its processor, as the GPU's
// time hides; or the GPU's own alone where that gives more requests a second (asymmetric_batches.h). Who
// finds no block any more goes over to the host; who is there comes back when there is room, before new
// prompts. Other than NEO: a KV cache on its way back is in no step until it is there; who leaves the GPU
// keeps his place in the order of admission; the host's memory is kept free for the GPU's only by prompts
// that go to it, and not at all under sequence admission, where all of a request's blocks are set aside;
// where a head loses its room in the GPU to one that comes back, prompts wait for the next step; with nothing
// of the GPU's own to do, all of the host's decodes are computed in halves.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "policies/batching/asymmetric_batches.h"
#include "policies/batching/batch_builder.h"
#include "policies/batching/decode_halves.h"

namespace weir {
namespace {

// Requests that come back leave a twentieth of the GPU's blocks free: NEO's swap_in_threshold is 0.95 of
// them.
constexpr std::int64_t left_free = 20;
// Choices are not looked ahead further: a request seldom generates so many tokens without one that ends.
constexpr std::int64_t most_steps_alike = 1024;

class AsymmetricPipelining final : public LimitedBatching {
 public:
  using LimitedBatching::LimitedBatching;

  bool interleaves() const override { return true; }
  bool moves_kv_caches() const override { return true; }
  Predictor predictor() const override { return Predictor::exact; }
  // A preempted request is computed anew in one step.
  bool serves(const Request& request, std::int64_t total_blocks, std::int64_t block_tokens) const override {
    return request.input_tokens + request.output_tokens - 1 <= limits_.max_batch_tokens &&
           LimitedBatching::serves(request, total_blocks, block_tokens);
  }

  void next(const ServingView& view, Batch& batch) const override {
    if (!view.times || view.spare_channel < 0)
      throw std::logic_error("asymmetric_pipelining is asked without the times of steps or the GPU's memory");
    BatchBuilder builder(view, limits_, view.admission, batch);
    make_room(view, builder);
    AsymmetricCandidates candidates;
    candidates.spare_channel = view.spare_channel;
    take_own(view, builder, batch, candidates);
    const std::int64_t spare = view.admission == Admission::sequence ? 0 : own_blocks(view);
    if (batch.preempted.empty() && batch.moves.empty()) move_in(view, builder, spare / left_free);
    if (batch.preempted.empty()) admit(view, builder, spare, candidates);
    Sequences host = host_decodes(view, builder, batch, candidates);
    if (candidates.own.empty() && candidates.prompts.empty() && host.empty() &&
        make_host_room(view, builder, batch))
      host = host_decodes(view, builder, batch, candidates);
    // With several batches in flight, who is left for the next one changes with each.
    const bool steady = view.pipeline_stages == 1 && batch.moves.empty() && batch.preempted.empty();
    if (candidates.own.empty() && candidates.prompts.empty()) {
      take_host(view, builder, host, candidates, steady, batch);
      return;
    }
    const AsymmetricBatches formed = form_asymmetric_batches(*view.times, candidates);
    carry_out(view, builder, formed, host, candidates, batch);
    batch.valid.wakes_on.any_arrival = candidates.prompts.size() == view.waiting.size();
    if (batch.admitted.empty() && steady) batch.valid.steps = steps_alike(*view.times, candidates, formed);
  }

 private:
  using Sequences = std::vector<const SequenceView*>;

  static bool own(const ServingView& view, const SequenceView& sequence) {
    return sequence.channel == view.spare_channel;
  }
  static bool gone(const Batch& batch, const SequenceView& sequence) {
    return std::ranges::find(batch.moves, sequence.request, &Move::request) != batch.moves.end() ||
           std::ranges::find(batch.preempted, sequence.request) != batch.preempted.end();
  }

  static std::int64_t own_blocks(const ServingView& view) {
    std::int64_t blocks = view.free_blocks[pool_of(view, view.spare_channel)];
    for (const SequenceView& sequence : view.running)
      if (own(view, sequence)) blocks += sequence.blocks;
    return blocks;
  }

  // So that the next token of everyone who is left has a block.
  static void make_room(const ServingView& view, BatchBuilder& builder) {
    const auto lacks = [&](const SequenceView& s) {
      return own(view, s) && !s.in_flight
                 ? std::max<std::int64_t>(0, blocks_for(s.known_tokens, view.block_tokens) - s.blocks)
                 : 0;
    };
    std::int64_t wanted = 0;
    for (const SequenceView& sequence : view.running) wanted += lacks(sequence);
    for (auto last = view.running.rbegin();
         last != view.running.rend() && wanted > builder.spare_free_blocks(); ++last) {
      if (!own(view, *last) || last->in_flight) continue;
      const std::int64_t lacking = wanted - builder.spare_free_blocks();
      wanted -= lacks(*last);
      if (!builder.move_out(*last)) builder.preempt(*last, -1, lacking);
    }
  }

  static void take_own(const ServingView& view, BatchBuilder& builder, const Batch& batch,
                       AsymmetricCandidates& candidates) {
    for (const SequenceView& sequence : view.running) {
      if (builder.full()) return;
      if (!own(view, sequence) || sequence.in_flight || gone(batch, sequence)) continue;
      if (builder.take(sequence, 1)) candidates.own.push_back({sequence.known_tokens, sequence.channel});
    }
  }

  // First come, first served, but for those that the GPU's memory could never hold.
  static void move_in(const ServingView& view, BatchBuilder& builder, std::int64_t spare) {
    const std::int64_t most = own_blocks(view) - spare;
    for (const SequenceView& sequence : view.running) {
      if (own(view, sequence) || sequence.in_flight) continue;
      if (builder.claim(sequence, 1) > most) continue;
      if (!builder.move_in(sequence, spare)) return;
    }
  }

  // So that whoever must leave the GPU's memory finds room in the host's.
  static void admit(const ServingView& view, BatchBuilder& builder, std::int64_t spare,
                    AsymmetricCandidates& candidates) {
    while (const SequenceView* head = builder.head()) {
      const bool alone = view.running.empty() && candidates.prompts.empty();
      const bool kept_free = !own(view, *head) && !alone;
      if (!builder.add(*head, head->pending(), kept_free ? spare : 0)) return;
      candidates.prompts.push_back({head->pending(), head->computed_tokens, head->channel});
    }
  }

  static bool lacks_block(const ServingView& view, const SequenceView& sequence) {
    return sequence.known_tokens > sequence.blocks * view.block_tokens;
  }

  // Decodes there join that may have a block for their next token.
  static Sequences host_decodes(const ServingView& view, const BatchBuilder& builder, Batch& batch,
                                AsymmetricCandidates& candidates) {
    Sequences decodes;
    for (const SequenceView& sequence : view.running) {
      if (own(view, sequence) || sequence.in_flight || gone(batch, sequence)) continue;
      if (lacks_block(view, sequence) && builder.dealt_free_blocks() == 0) {
        batch.valid.wakes_on.free_blocks = true;
        continue;
      }
      decodes.push_back(&sequence);
      candidates.host.push_back({sequence.known_tokens, sequence.channel});
    }
    candidates.most_host = builder.full() ? 0 : builder.decodes_left();
    return decodes;
  }

  // The host's memory is full of those that need a block each, and nobody is on his way to give his back: the
  // last ones give theirs to the others.
  static bool make_host_room(const ServingView& view, BatchBuilder& builder, const Batch& batch) {
    const auto leaves_host = [](const Move& move) { return move.to == KvMemory::spare; };
    if (std::ranges::any_of(batch.moves, leaves_host) ||
        std::ranges::any_of(view.running, &SequenceView::in_flight))
      return false;
    for (auto last = view.running.rbegin(); last != view.running.rend() && builder.dealt_free_blocks() == 0;
         ++last)
      if (!own(view, *last) && !last->in_flight && !gone(batch, *last)) builder.preempt(*last, -1, 1);
    return builder.dealt_free_blocks() > 0;
  }

  // With the block that it may need; the last ones to ask find none.
  class HostSlices {
   public:
    HostSlices(const ServingView& view, const BatchBuilder& builder, Batch& batch)
        : view_(view), batch_(batch), free_blocks_(builder.dealt_free_blocks()) {}
    void add(const SequenceView& sequence, std::int8_t sub_batch) {
      if (lacks_block(view_, sequence) && --free_blocks_ < 0) return;
      batch_.slices.push_back({sequence.request, 1, sub_batch});
    }

   private:
    const ServingView& view_;
    Batch& batch_;
    std::int64_t free_blocks_;
  };

  // Requests that were taken and are not in it are left out again, from the end.
  static void carry_out(const ServingView& view, const BatchBuilder& builder, const AsymmetricBatches& formed,
                        const Sequences& host, const AsymmetricCandidates& candidates, Batch& batch) {
    batch.admitted.resize(formed.prompts);
    const std::size_t gpu = candidates.own.size() + formed.prompts;
    batch.slices.resize(gpu);
    if (!formed.two) return;
    HostSlices slices(view, builder, batch);
    for (std::size_t i = 0; i < host.size(); ++i)
      if (formed.host[i] >= 0) slices.add(*host[i], formed.host[i]);
    if (batch.slices.size() > gpu) batch.interleaving = Interleaving::two;
  }

  // Nothing else is to be done: all of them, in halves.
  static void take_host(const ServingView& view, const BatchBuilder& builder, const Sequences& host,
                        const AsymmetricCandidates& candidates, bool steady, Batch& batch) {
    HostSlices slices(view, builder, batch);
    for (const SequenceView* sequence : host)
      if (std::ssize(batch.slices) < candidates.most_host) slices.add(*sequence, 0);
    if (steady && !batch.slices.empty()) batch.valid.steps = Validity::unlimited;
    part_decodes(view, batch);
    if (batch.slices.size() > 1) batch.interleaving = Interleaving::two;
  }

  // While those in the step grow. Times being affine in contexts, whatever compares alike now and after so
  // many steps does all the while.
  static std::int64_t steps_alike(const StepTimes& times, const AsymmetricCandidates& now,
                                  const AsymmetricBatches& formed) {
    const auto same_after = [&](std::int64_t steps) {
      AsymmetricCandidates then = now;
      for (DecodeContext& decode : then.own) decode.tokens += steps;
      for (std::size_t i = 0; i < formed.host.size(); ++i)
        if (formed.two && formed.host[i] >= 0) then.host[i].tokens += steps;
      return form_asymmetric_batches(times, then) == formed;
    };
    std::int64_t same = 0, other = 1;
    while (other < most_steps_alike && same_after(other)) same = std::exchange(other, 4 * other);
    if (other >= most_steps_alike && same_after(most_steps_alike)) return most_steps_alike;
    while (other - same > 1) {
      const std::int64_t middle = (same + other) / 2;
      (same_after(middle) ? same : other) = middle;
    }
    return other;
  }
};

}  // namespace

std::shared_ptr<const BatchingPolicy> make_asymmetric_pipelining(Params& params) {
  return std::make_shared<AsymmetricPipelining>(BatchLimits::from(params));
}

}  // namespace weir
