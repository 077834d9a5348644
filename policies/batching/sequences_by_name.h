#pragma once
// The sequences of a view by the names that a batch has for them. A batch names them in the order of the
// view, nearly always, so that each is found next to the last one; any other order is found too, and slower.
#include <stdexcept>

#include "policies/batching/batching.h"

namespace weir {

class SequencesByName {
 public:
  explicit SequencesByName(const ServingView& view) : view_(view) {}

  const SequenceView& operator[](std::int32_t request) {
    const std::size_t all = view_.running.size() + view_.waiting.size();
    for (std::size_t looked_at = 0; looked_at < all; ++looked_at) {
      const SequenceView& sequence =
          next_ < view_.running.size() ? view_.running[next_] : view_.waiting[next_ - view_.running.size()];
      next_ = next_ + 1 == all ? 0 : next_ + 1;
      if (sequence.request == request) return sequence;
    }
    throw std::logic_error("a batching policy looks for a request that neither runs nor waits");
  }

 private:
  const ServingView& view_;
  std::size_t next_ = 0;  // to be looked at
};

}  // namespace weir
