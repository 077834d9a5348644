#include "policies/partitioning/fetched_layers.h"

#include "models/llm/parts/rewrite.h"

namespace weir {

Bytes weights_of(const OperatorGraph& operators) {
  Bytes bytes{};
  for (std::size_t v = 0; v < boost::num_vertices(operators); ++v)
    bytes += stored_bytes(lowered(operators[v], {}));
  return bytes;
}

Operator load_operator(const char* name, Bytes bytes, int link) {
  return {
      .name = name, .kernel = Copy{Copy::Way::back, bytes}, .rows = Rows::step, .unit = link, .member = 1};
}

void append_fetched(StageGraph& stage, Part part, Bytes load, int link, bool ahead) {
  OperatorGraph first;
  boost::add_vertex(load_operator("load", load, link), first);
  part.operators = one_after_the_other(first, part.operators);
  const std::size_t here = stage.parts.size();
  stage.parts.push_back(std::move(part));
  if (!ahead) return;
  if (!stage.early.empty()) stage.early.push_back({here, 0, stage.early.back().part, 0});
  stage.early.push_back({here, 0, here, 0});
}

}  // namespace weir
