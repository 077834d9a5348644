#pragma once
// The requests of one replica that wait, in the order in which they came; preempted ones return to the front.
// A policy sees them as one span of views, so they lie in one vector that is read from its head on.
#include <cstddef>
#include <span>
#include <vector>

#include "policies/batching/batching.h"
#include "sim/core/units.h"

namespace weir {

struct Live {  // beside each SequenceView, what policies need not see
  Seconds last_token{-1};
  std::int64_t resident = 0;  // tokens whose KV lies elsewhere and must be fetched before it can go on
  int resident_at = -1;       // the replica that holds them; -1: host memory
};

class WaitingQueue {
 public:
  std::size_t size() const { return views_.size() - head_; }
  bool empty() const { return size() == 0; }
  std::span<const SequenceView> views() const { return {views_.data() + head_, size()}; }
  SequenceView& view(std::size_t i) { return views_[head_ + i]; }
  const Live& live(std::size_t i) const { return live_[head_ + i]; }

  void push_back(const SequenceView& view, const Live& live);
  void push_front(const SequenceView& view, const Live& live);

  // Takes out the request, wherever it waits: what it costs grows with those before it, whom a policy has
  // looked at. Throws std::logic_error if it does not wait.
  struct Waiting {
    SequenceView view;
    Live live;
  };
  Waiting take(std::int32_t request);

 private:
  void drop_front();

  std::vector<SequenceView> views_;  // from head_ on
  std::vector<Live> live_;
  std::size_t head_ = 0;
};

}  // namespace weir
