// PRESERVE (Section 3, Algorithm 1): beside every communication what follows it is fetched, in the order of a
// breadth-first search, until the next communication or until the sum would fill the cache. The sum is that
// of the step at hand: the paper's graphs are compiled for one length, Weir's batches change. It is one
// communication's: where two run side by side (which no model of the catalog has), both may fill the cache.
//
// A step may take longer than without: a prefetch draws from the memory beside whatever runs, and what
// follows its reader waits for the stream that serves it last. Window-aware it never does, but for one cause:
// where the first layer's communication is shorter than the others', what they hide shares the memory there.
// (A cache that is slower than the memory makes any prefetch a loss.)
#include <algorithm>
#include <optional>

#include "policies/prefetch/insertion.h"
#include "policies/prefetch/prefetch.h"

namespace weir {
namespace {

class Preserve final : public PrefetchPolicy {
 public:
  Preserve(bool window_aware, std::optional<Bytes> limit) : window_aware_(window_aware), limit_(limit) {}

  StageGraph add_prefetches(StageGraph stage, std::span<const Unit> units) const override {
    std::vector<CommunicationWindow> windows = communication_windows(stage);
    if (window_aware_) std::erase_if(windows, [](const CommunicationWindow& w) { return !w.alone; });
    return insert_prefetches(std::move(stage), units, std::move(windows));
  }

  void choose(const PrefetchView& view, std::span<Bytes> fetched) const override {
    const Bytes limit = limit_.value_or(view.capacity);
    int window = -1;
    Bytes sum, beside;
    bool full = false;
    for (std::size_t i = 0; i < view.candidates.size(); ++i) {
      const PrefetchCandidate& c = view.candidates[i];
      if (c.window != window) window = c.window, sum = Bytes(0), beside = c.beside, full = false;
      sum += c.bytes;
      full = full || !(sum < limit);
      fetched[i] = full ? Bytes(0) : window_aware_ ? std::min(c.bytes, beside) : c.bytes;
      beside = beside - std::min(beside, fetched[i]);
    }
  }

  bool yields() const override { return window_aware_; }

 private:
  bool window_aware_;
  std::optional<Bytes> limit_;
};

}  // namespace

std::shared_ptr<const PrefetchPolicy> make_preserve(Params& params) {
  const bool window_aware = params.flag(
      {"window_aware",
       "No more than memory delivers while the communication runs, and only where nothing else runs "
       "beside it, so that nothing else has to share the memory with a prefetch."},
      false);
  const auto limit = params.quantity_or_null<Bytes>(
      {"limit_mb",
       "What the prefetches of a communication stay below together, in 10^6 bytes. Null: what the cache "
       "holds. More than that evicts what was fetched first, which is then read again from memory."});
  return std::make_shared<Preserve>(window_aware, limit);
}

}  // namespace weir
