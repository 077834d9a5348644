#pragma once
// Two batches of one step whose kernels alternate on a device: some of the one, then some of the other, while
// the exchange of tokens of either is under way. Engines fix the order as they capture a step, whatever its
// kernels then take. stage_step ranks the operators of its chains by it; pure.
#include <vector>

#include "models/llm/operator_graph.h"

namespace weir {

// A turn of a batch ends as it sends tokens to their experts and as it sends what these made of them back;
// in layers without experts as a collective begins, and with each layer.
struct Alternation {
  bool attention_apart = false;  // further turns: from where a layer attends on, and to wait for the results
  // When what needs no expert's result runs, the shared expert: behind the sending of the tokens, behind that
  // of the results, or in the turn after.
  enum class Shared { behind_dispatch, behind_combine, after_combine } shared = Shared::after_combine;
  int behind = 0;  // turns that the second batch begins later
  bool operator==(const Alternation&) const = default;
};

struct Alternations {
  Alternation prompts, decodes;  // for steps with prompts, and for those without
};

// The turn of each operator in its layer, and how many a layer has; its last may be the next one's first.
struct LayerTurns {
  std::vector<int> of;  // by vertex
  int all = 1;
};
LayerTurns turns_of(const OperatorGraph& layer, const Alternation& how);

}  // namespace weir
