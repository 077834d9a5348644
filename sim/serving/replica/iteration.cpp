#include "sim/serving/replica/iteration.h"

namespace weir {

std::int64_t Iteration::given_by(std::int64_t run) const {
  std::int64_t tokens = 0;
  for (const Iteration& rank : ranks) tokens += rank.given_by(run);
  if (!ranks.empty()) return tokens;
  if (given.empty() || run == 0) return run * shape.decodes;
  return given[static_cast<std::size_t>(run - 1)];
}

void Iteration::clear() {
  shape = {};
  for (Parts* p : {&parts, &sub_batch_parts[0], &sub_batch_parts[1]}) {
    p->chunks.clear();
    p->contexts.clear();
  }
  sub_batches.clear();
  interleaving = Interleaving::none;
  members.clear();
  moves.clear();
  number = 0;
  steps = 1;
  later.clear();
  given.clear();
}

}  // namespace weir
