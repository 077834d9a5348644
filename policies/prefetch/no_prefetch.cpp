#include "policies/prefetch/prefetch.h"

namespace weir {
namespace {

class NoPrefetch final : public PrefetchPolicy {
 public:
  StageGraph add_prefetches(StageGraph placed) const override { return placed; }
};

}  // namespace

std::shared_ptr<const PrefetchPolicy> make_no_prefetch(Params&) {
  return std::make_shared<NoPrefetch>();
}

}  // namespace weir
