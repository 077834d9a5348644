#include "models/llm/stage.h"

namespace weir {
namespace {

// Experts are dealt out to the expert groups of the tensor group and each is cut over the ranks of its group
// (TensorRT-LLM's moe_tp_size x moe_ep_size = tp_size; vLLM's enable_expert_parallel is expert = tensor).
// Every rank of a tensor group already holds every token, so there is nothing to dispatch or to combine by
// all-to-all: each rank leaves out the tokens that are not its experts', and the all-reduce that ends the MLP
// adds up the rest.
Operator grouped(const char* name, const OperatorMaker& make, std::int64_t in, std::int64_t out) {
  const MixtureOfExperts& moe = make.layer.moe;
  Gemm each = std::get<Gemm>(make.gemm(name, in, out).kernel);
  each.weights = make.precision.expert_weights.value_or(each.weights);
  each.activations = make.precision.expert_activations.value_or(each.activations);
  return {.name = name,
          .kernel = GroupedGemm{each, moe.experts / make.sharding.expert, moe.active, moe.experts}};
}

}  // namespace

// Rows of the experts' elementwise operators are tokens too; their bytes are those of the token's experts
// that this rank holds, on the average of a router that spreads them evenly. Choosing the top-k and sorting
// rows by expert move a few bytes a token and have no operator.
Vertex append_experts(OperatorGraph& graph, const OperatorMaker& make, Vertex input) {
  const Architecture& m = make.model;
  const MixtureOfExperts& moe = make.layer.moe;
  const std::int64_t width = moe.intermediate * make.sharding.expert / make.sharding.tensor;
  const double active_here = static_cast<double>(moe.active) / make.sharding.expert;
  const double hidden = static_cast<double>(m.hidden);
  const std::int64_t scores = moe.experts + (moe.shared_gate ? 1 : 0);

  Vertex at = append(graph, make.unquantised_gemm("moe_router", m.hidden, scores), {input});
  at = append(graph, grouped("moe_gate_up", make, m.hidden, 2 * width), {at, input});
  at = append(graph, make.elementwise("moe_act", active_here * 3 * static_cast<double>(width)), {at});
  at = append(graph, grouped("moe_down", make, width, m.hidden), {at});
  if (moe.shared_intermediate == 0)
    return append(graph, make.elementwise("moe_sum", (active_here + 1) * hidden), {at});
  const Vertex shared = append_mlp(graph, make, moe.shared_intermediate, true, input);
  return append(graph, make.elementwise("moe_sum", (active_here + 2) * hidden), {at, shared});
}

}  // namespace weir
