#pragma once
// What a device fetches into its cache ahead of use. Called by the engine once per pipeline stage and
// configuration, after the partitioning policy. Pure: no clock, no device; how far a prefetch hides comes out
// of the step timeline.
#include "models/llm/operator_graph.h"
#include "sim/core/catalog.h"

namespace weir {

class PrefetchPolicy {
 public:
  virtual ~PrefetchPolicy() = default;
  virtual StageGraph add_prefetches(StageGraph placed) const = 0;
};

const Catalog<PrefetchPolicy>& prefetch_policies();

}  // namespace weir
