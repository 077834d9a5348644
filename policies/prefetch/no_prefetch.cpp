#include <algorithm>

#include "policies/prefetch/prefetch.h"

namespace weir {
namespace {

class NoPrefetch final : public PrefetchPolicy {
 public:
  StageGraph add_prefetches(StageGraph placed, std::span<const Unit>) const override { return placed; }
  void choose(const PrefetchView&, std::span<Bytes> fetched) const override {
    std::ranges::fill(fetched, Bytes(0));
  }
};

}  // namespace

std::shared_ptr<const PrefetchPolicy> make_no_prefetch(Params&) {
  return std::make_shared<NoPrefetch>();
}

}  // namespace weir
