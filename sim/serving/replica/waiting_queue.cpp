#include "sim/serving/replica/waiting_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace weir {

void WaitingQueue::push_back(const SequenceView& view, const Live& live) {
  views_.push_back(view);
  live_.push_back(live);
}

void WaitingQueue::push_front(const SequenceView& view, const Live& live) {
  if (head_ == 0) {
    const std::size_t room = views_.size() / 2 + 16;  // less than drop_front() tidies away
    views_.insert(views_.begin(), room, SequenceView{});
    live_.insert(live_.begin(), room, Live{});
    head_ = room;
  }
  --head_;
  views_[head_] = view;
  live_[head_] = live;
}

WaitingQueue::Waiting WaitingQueue::take(std::int32_t request) {
  const auto head = static_cast<std::ptrdiff_t>(head_);
  const auto at = std::find_if(views_.begin() + head, views_.end(),
                               [&](const SequenceView& view) { return view.request == request; }) -
                  views_.begin();
  if (at == std::ssize(views_))
    throw std::logic_error(fmt::format("a batching policy admits request {}, which does not wait", request));
  const Waiting taken{views_[static_cast<std::size_t>(at)], live_[static_cast<std::size_t>(at)]};
  std::move_backward(views_.begin() + head, views_.begin() + at, views_.begin() + at + 1);
  std::move_backward(live_.begin() + head, live_.begin() + at, live_.begin() + at + 1);
  drop_front();
  return taken;
}

void WaitingQueue::drop_front() {
  ++head_;
  if (head_ <= 64 || 4 * head_ <= 3 * views_.size()) return;
  views_.erase(views_.begin(), views_.begin() + static_cast<std::ptrdiff_t>(head_));
  live_.erase(live_.begin(), live_.begin() + static_cast<std::ptrdiff_t>(head_));
  head_ = 0;
}

}  // namespace weir
