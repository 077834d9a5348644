#include "models/llm/stage.h"

namespace weir {
namespace {

// Where attention is data-parallel, a rank's experts take the tokens of all ranks.
Rows rows_of_experts(const Sharding& sharding) {
  return sharding.attention_data > 1 ? Rows::routed : Rows::tokens;
}

// Experts are dealt out to the expert groups of the tensor group and each is cut over the ranks of its group
// (TensorRT-LLM's moe_tp_size x moe_ep_size = tp_size; vLLM's enable_expert_parallel is expert = tensor).
// Every rank of a tensor group already holds every token of its own, so that without attention data
// parallelism there is nothing to dispatch or to combine: each rank leaves out the tokens that are not its
// experts', and the all-reduce that ends the MLP adds up the rest.
Operator grouped(const char* name, const OperatorMaker& make, std::int64_t in, std::int64_t out) {
  const MixtureOfExperts& moe = make.layer.moe;
  Gemm each = std::get<Gemm>(make.gemm(name, in, out).kernel);
  each.weights = make.precision.expert_weights.value_or(each.weights);
  each.activations = make.precision.expert_activations.value_or(each.activations);
  return {.name = name,
          .kernel = GroupedGemm{each, moe.experts / make.sharding.expert, moe.active, moe.experts},
          .rows = rows_of_experts(make.sharding)};
}

// As many elements of the hidden type a token.
Operator of_experts(const char* name, const OperatorMaker& make, double elements) {
  Operator op = make.elementwise(name, elements);
  op.rows = rows_of_experts(make.sharding);
  return op;
}

// Hidden states of all ranks' tokens, to every rank, or of what its experts made of them, added up and back:
// vLLM's allgather_reducescatter. Ranks of a tensor group send a part each of what they all have.
Operator exchanged(const char* name, const OperatorMaker& make, Collective how) {
  const Bytes state(static_cast<double>(make.model.hidden) * bytes_per_element(make.precision.hidden()));
  return {.name = name,
          .kernel = Communication{how, state, make.sharding.ranks(), Communication::Among::stage},
          .rows = Rows::routed};
}

}  // namespace

// Rows of the experts' elementwise operators are tokens too; their bytes are those of the token's experts
// that this rank holds, on the average of a router that spreads them evenly. Choosing the top-k and sorting
// rows by expert move a few bytes a token and have no operator. What a shared expert yields is added to the
// sum where both are of the same tokens.
Vertex append_experts(OperatorGraph& graph, const OperatorMaker& make, Vertex input) {
  const Architecture& m = make.model;
  const MixtureOfExperts& moe = make.layer.moe;
  const double hidden = static_cast<double>(m.hidden);
  const std::int64_t width = moe.intermediate * make.sharding.expert / make.sharding.ranks();
  const double active_here = static_cast<double>(moe.active) / make.sharding.expert;
  const std::int64_t scores = moe.experts + (moe.shared_gate ? 1 : 0);
  const bool shares = moe.shared_intermediate > 0, exchanges = make.sharding.attention_data > 1;
  const auto append_shared = [&] { return append_mlp(graph, make, moe.shared_intermediate, true, input); };

  Vertex at = append(graph, make.unquantised_gemm("moe_router", m.hidden, scores), {input});
  if (exchanges) at = append(graph, exchanged("moe_dispatch", make, Collective::all_gather), {at});
  at = append(graph, grouped("moe_gate_up", make, m.hidden, 2 * width), {at, input});
  at = append(graph, of_experts("moe_act", make, active_here * 3 * static_cast<double>(width)), {at});
  at = append(graph, grouped("moe_down", make, width, m.hidden), {at});
  if (shares && !exchanges)
    return append(graph, of_experts("moe_sum", make, (active_here + 2) * hidden), {at, append_shared()});
  at = append(graph, of_experts("moe_sum", make, (active_here + 1) * hidden), {at});
  if (!exchanges) return at;
  at = append(graph, exchanged("moe_combine", make, Collective::reduce_scatter), {at});
  return shares ? append(graph, make.elementwise("moe_shared_sum", 3 * hidden), {at, append_shared()}) : at;
}

}  // namespace weir
