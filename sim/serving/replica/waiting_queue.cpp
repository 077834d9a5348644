#include "sim/serving/replica/waiting_queue.h"

namespace weir {

void WaitingQueue::push_back(const SequenceView& view, const Live& live) {
  views_.push_back(view);
  live_.push_back(live);
}

void WaitingQueue::push_front(const SequenceView& view, const Live& live) {
  if (head_ == 0) {
    const std::size_t room = views_.size() / 2 + 16;  // less than pop_front() tidies away
    views_.insert(views_.begin(), room, SequenceView{});
    live_.insert(live_.begin(), room, Live{});
    head_ = room;
  }
  --head_;
  views_[head_] = view;
  live_[head_] = live;
}

void WaitingQueue::pop_front(std::size_t count) {
  head_ += count;
  if (head_ <= 64 || 4 * head_ <= 3 * views_.size()) return;
  views_.erase(views_.begin(), views_.begin() + static_cast<std::ptrdiff_t>(head_));
  live_.erase(live_.begin(), live_.begin() + static_cast<std::ptrdiff_t>(head_));
  head_ = 0;
}

}  // namespace weir
