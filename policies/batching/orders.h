#pragma once
#include "policies/batching/batching.h"

namespace weir {

// Batching policies that differ in the order in which waiting requests are admitted, and in nothing else.
Catalog<BatchingPolicy> waiting_orders();

}  // namespace weir
