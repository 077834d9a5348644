#pragma once
// Scenarios drawn at random, and the laws that every run keeps. KV blocks are
// also counted by the engine itself: it throws when one is promised twice or held at the end.
#include "test/serving/run_in_child.h"

namespace weir::test {

// Any batching, cache pressure, layout, role, routing and arrival process; single-stage replicas if
// `one_stage`.
Json random_scenario(unsigned seed, bool one_stage);

// The same on NPUs, with KV caches in as many channels as those with PIM have; any placement and
// interleaving, prompts on NPUs of their own or not.
Json random_npu_scenario(unsigned seed, bool one_stage);

void check_laws(const Json& scenario, const Outcome& outcome);
// But for rounding: of runs that sum the same steps in another order.
void check_same(const Outcome& fast, const Outcome& slow);
void check_same_bits(const Json& scenario);  // run twice

}  // namespace weir::test
