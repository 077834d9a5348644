#pragma once
// Prefetch policies say what a device fetches into its cache ahead of use. Called by the engine once per
// pipeline stage and configuration, after the partitioning policy, and then for the amounts of every step.
// Pure: no clock, no device; how far a prefetch hides comes out of the step timeline, which a policy may ask.
#include <functional>
#include <span>

#include "models/llm/operator_graph.h"
#include "models/machine/machine.h"
#include "sim/core/catalog.h"

namespace weir {

// An operator that a collective is followed by, in the order in which they are found.
struct PrefetchCandidate {
  int window;    // Operator::window
  Bytes bytes;   // what it reads that is there before: weights, K and V
  Bytes beside;  // what memory delivers while the collective runs and nothing else does: 0 if something may
};

struct PrefetchView {
  Bytes capacity;
  std::span<const PrefetchCandidate> candidates;
  // The step takes so long with so much of each fetched, played on its timeline; of several sub-batches, with
  // what is chosen for those before and nothing for those after.
  const std::function<Seconds(std::span<const Bytes>)>& step_time;
};

class PrefetchPolicy {
 public:
  virtual ~PrefetchPolicy() = default;
  // Adds an operator of kind prefetch for whatever may ever be fetched, on the unit that runs these. Throws
  // std::invalid_argument where the device has none.
  virtual StageGraph add_prefetches(StageGraph placed, std::span<const Unit> units) const = 0;
  // How much of each is fetched in this step.
  virtual void choose(const PrefetchView& view, std::span<Bytes> fetched) const = 0;
  // Whether a prefetch leaves to its collective what that draws from memory; if not they share it.
  virtual bool yields() const { return false; }
  // Whether it chooses for a whole step, which sub-batches side by side are not.
  virtual bool of_one_batch() const { return false; }
};

const Catalog<PrefetchPolicy>& prefetch_policies();

}  // namespace weir
