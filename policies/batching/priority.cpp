// Classes of urgency, by the requests' priority: a lower number is more urgent, and within a class whoever
// came first is. All go in this order, those that run and those that wait alike; with one class that is
// chunked_prefill. From vLLM v1 (vllm/v1/core/sched/scheduler.py, commit 00024d3, --scheduling-policy
// priority) are the numbers, the order of those that wait, and who gives its KV blocks to a running one that
// lacks them: the least urgent. But vLLM preempts for nobody who waits, and computes the running ones in
// order of admission; here those of a less urgent class give blocks, seats and tokens of the step to whoever
// waits (docs/decisions.md, 120).
#include <algorithm>
#include <limits>
#include <utility>

#include "policies/batching/batch_builder.h"

namespace weir {
namespace {

struct Before {
  const ServingView& view;
  bool operator()(const SequenceView* a, const SequenceView* b) const {
    return std::pair(a->priority, view.came(*a)) < std::pair(b->priority, view.came(*b));
  }
};

bool lower_class(const SequenceView* a, const SequenceView* b) {
  return a->priority < b->priority;
}

// One decision while it is made. Whoever has been served or admitted so far is more urgent than all others.
class PriorityBatch {
 public:
  PriorityBatch(const ServingView& view, const BatchLimits& limits, Batch& batch)
      : view_(view), before_{view}, batch_(batch), builder_(view, limits, view.admission, batch) {
    for (const SequenceView& sequence : view.running) running_.push_back(&sequence);
    for (const SequenceView& sequence : view.waiting) waiting_.push_back(&sequence);
    if (!std::ranges::is_sorted(running_, before_)) std::ranges::sort(running_, before_);
    std::ranges::make_heap(waiting_, after_);
  }

  void make() {
    // Whoever arrives may be more urgent than one that waits or runs.
    batch_.valid.wakes_on.any_arrival = !waiting_.empty();
    bool admits = true;
    for (const SequenceView* next : running_) {
      while (admits && !waiting_.empty() && waiting_.front()->priority < next->priority) admits = join();
      if (builder_.full()) break;
      if (!next->in_flight && !builder_.preempted(*next)) serve(*next);
    }
    while (admits && !waiting_.empty()) admits = join();
    if (decodes_only_ && batch_.admitted.empty() && batch_.preempted.empty() && !batch_.slices.empty())
      batch_.valid.steps = Validity::unlimited;
  }

 private:
  // Its decode, or as much of its prompt as the budget leaves. Where blocks are lacking it has those of the
  // least urgent; where it is that itself, it gives way, or waits for less urgent ones in flight.
  void serve(const SequenceView& running) {
    decodes_only_ &= !running.prefilling();
    const std::int64_t tokens = std::min(running.pending(), builder_.tokens_left());
    if (builder_.positions(running, tokens) > builder_.tokens_left()) return;  // it waits, with its drafts
    while (!builder_.take(running, tokens)) {
      decodes_only_ = false;
      const Below below = behind(running, before_);
      if (!below.victim && below.in_flight) return close(running);
      const SequenceView& victim = below.victim ? *below.victim : running;
      builder_.preempt(victim, running.request, builder_.missing());
      close(victim);
      if (&victim == &running) return;
    }
  }

  // Admits the most urgent one that waits. False: it stays, and everybody behind it.
  bool join() {
    const SequenceView& first = *waiting_.front();
    if (builder_.full() || first.priority >= closed_class_) return false;
    const std::int64_t tokens = std::min(builder_.look_up(first).pending(), builder_.tokens_left());
    make_room(first, tokens);
    if (!builder_.has_seat() || !builder_.add(first, tokens)) return false;
    std::ranges::pop_heap(waiting_, after_);
    waiting_.pop_back();
    return true;
  }

  // Less urgent classes give way only where that is enough, in this step or when their batches come back.
  void make_room(const SequenceView& first, std::int64_t tokens) {
    std::int64_t blocks = 0, seats = builder_.has_seat();
    for (const SequenceView* below : running_) {
      if (!lower_class(&first, below) || builder_.preempted(*below)) continue;
      ++seats;
      if (pool_of(view_, *below) == pool_of(view_, first)) blocks += builder_.blocks_of(*below);
    }
    if (builder_.lacks(first, tokens) > blocks || seats == 0) return;
    while (builder_.lacks(first, tokens) > 0) {
      const SequenceView* victim = behind(first, lower_class).victim;
      decodes_only_ = false;
      if (!victim) return;
      builder_.preempt(*victim, first.request, builder_.lacks(first, tokens));
      close(*victim);
    }
    if (builder_.has_seat()) return;
    decodes_only_ = false;
    for (auto last = running_.rbegin(); last != running_.rend() && lower_class(&first, *last); ++last) {
      if ((*last)->in_flight || builder_.preempted(**last)) continue;
      builder_.give_seat(**last, first.request);
      return close(**last);
    }
  }

  // The least urgent below somebody, in his pool of KV blocks, that can be preempted.
  struct Below {
    const SequenceView* victim = nullptr;
    bool in_flight = false;  // others cannot be
  };
  template <class Order>
  Below behind(const SequenceView& sequence, Order order) const {
    Below below;
    for (auto last = running_.rbegin(); last != running_.rend() && order(&sequence, *last); ++last) {
      if (pool_of(view_, **last) != pool_of(view_, sequence) || builder_.preempted(**last)) continue;
      if (!(*last)->in_flight) {
        below.victim = *last;
        break;
      }
      below.in_flight = true;
    }
    return below;
  }

  // Nobody of its class or below joins in this step, in which it was preempted or lacks blocks.
  void close(const SequenceView& running) {
    closed_class_ = std::min<std::int64_t>(closed_class_, running.priority);
  }

  using Queue = boost::container::small_vector<const SequenceView*, 256>;

  struct After {
    Before before;
    bool operator()(const SequenceView* a, const SequenceView* b) const { return before(b, a); }
  };

  const ServingView& view_;
  Before before_;
  After after_{before_};
  Batch& batch_;
  BatchBuilder builder_;
  Queue running_;  // the most urgent first
  Queue waiting_;  // a heap, the most urgent on top
  bool decodes_only_ = true;
  std::int64_t closed_class_ = std::numeric_limits<std::int64_t>::max();  // and all below it
};

class PriorityBatching final : public LimitedBatching {
 public:
  using LimitedBatching::LimitedBatching;

  void next(const ServingView& view, Batch& batch) const override {
    PriorityBatch(view, limits_, batch).make();
  }
};

}  // namespace

std::shared_ptr<const BatchingPolicy> make_priority_batching(Params& params) {
  return std::make_shared<PriorityBatching>(BatchLimits::from(params));
}

}  // namespace weir
