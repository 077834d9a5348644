#include <algorithm>

#include "models/llm/stage.h"

namespace weir {
namespace {

// Experts of a latent mixture see a token in fewer numbers than the hidden state has.
std::int64_t width_of(const OperatorMaker& make) {
  return make.layer.moe.latent > 0 ? make.layer.moe.latent : make.model.hidden;
}

// Where attention is data-parallel, a rank's experts take the tokens of all ranks.
Rows rows_of_experts(const Sharding& sharding) {
  return sharding.attention_data > 1 ? Rows::routed : Rows::tokens;
}

// Null: every rank has as many tokens of as many experts.
const ExpertLoads* loads_of(const OperatorMaker& make) {
  const ExpertSharing& sharing = make.sharding.experts;
  if (!sharing.skewed()) return nullptr;
  const MixtureOfExperts& moe = make.layer.moe;
  return &expert_loads({.experts = static_cast<int>(moe.experts),
                        .active = static_cast<int>(moe.active),
                        .ranks = make.sharding.expert,
                        .redundant = sharing.redundant,
                        .distribution = sharing.distribution,
                        .exponent = sharing.exponent,
                        .seed = sharing.seed});
}

// Experts are dealt out to the expert groups of the tensor group and each is cut over the ranks of its group
// (TensorRT-LLM's moe_tp_size x moe_ep_size = tp_size; vLLM's enable_expert_parallel is expert = tensor).
// Every rank of a tensor group already holds every token of its own, so that without attention data
// parallelism there is nothing to dispatch or to combine: each rank leaves out the tokens that are not its
// experts', and the all-reduce that ends the MLP adds up the rest.
Operator grouped(const char* name, const OperatorMaker& make, std::int64_t in, std::int64_t out) {
  const MixtureOfExperts& moe = make.layer.moe;
  const Gemm each = std::get<Gemm>(make.gemm(MatrixGroup::experts, name, in, out).kernel);
  const ExpertLoads* loads = loads_of(make);
  const std::int64_t here = loads ? loads->slots_per_rank() : moe.experts / make.sharding.expert;
  return {.name = name,
          .kernel = GroupedGemm{each, here, moe.active, moe.experts, loads},
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
Operator gathered(const char* name, const OperatorMaker& make, Collective how) {
  const Bytes state(static_cast<double>(width_of(make)) * bytes_per_element(make.precision.hidden()));
  return {.name = name,
          .kernel = Communication{how, state, make.sharding.ranks(), Communication::Among::stage},
          .rows = Rows::routed};
}

// In the experts' type where that has fewer than 16 bits. Results come back in the type of hidden states.
Bytes sent_of_token(const OperatorMaker& make, bool back) {
  const DataType type = make.types_of(MatrixGroup::experts).activations;
  const double hidden = bytes_per_element(make.precision.hidden());
  return Bytes(static_cast<double>(width_of(make)) *
               (back ? hidden : std::min(hidden, bytes_per_activation(type))));
}

Operator sent(const OperatorMaker& make, bool back, ExchangeMethod method, Rows rows) {
  const MixtureOfExperts& moe = make.layer.moe;
  return {.name = back ? "moe_combine" : "moe_dispatch",
          .kernel = Communication{Collective::all_to_all, sent_of_token(make, back), make.sharding.ranks(),
                                  Communication::Among::stage,
                                  ExpertTraffic{method, back, moe.experts, moe.active, loads_of(make)}},
          .rows = rows};
}

// DeepEP has kernels for prompts and others for decodes; a step runs the ones or the others.
Vertex append_exchange(OperatorGraph& graph, const OperatorMaker& make, bool back, Vertex input) {
  switch (make.sharding.experts.communication) {
    case ExpertSharing::Communication::deepep:
      input = append(graph, sent(make, back, ExchangeMethod::normal, Rows::routed_prompts), {input});
      return append(graph, sent(make, back, ExchangeMethod::low_latency, Rows::routed_decodes), {input});
    case ExpertSharing::Communication::nvlink_all_to_all:
      return append(graph, sent(make, back, ExchangeMethod::nvlink_all_to_all, Rows::routed), {input});
    default:
      return append(graph,
                    back ? gathered("moe_combine", make, Collective::reduce_scatter)
                         : gathered("moe_dispatch", make, Collective::all_gather),
                    {input});
  }
}

// Adding up a token's experts: those of a rank, with the shared one's or not; where tokens are sent and come
// back, the kernel that brings them does the rest. DeepEP's for decodes brings every copy.
Operator summed(const OperatorMaker& make, double active_here, bool with_shared) {
  const double hidden = static_cast<double>(width_of(make));
  const ExpertSharing::Communication sent = make.sharding.experts.communication;
  Operator op = of_experts("moe_sum", make, (active_here + (with_shared ? 2 : 1)) * hidden);
  if (make.sharding.attention_data == 1 || sent == ExpertSharing::Communication::all_gather) return op;
  op = of_experts("moe_sum", make, 2 * active_here * hidden);
  if (sent == ExpertSharing::Communication::deepep) op.rows = Rows::routed_prompts;
  return op;
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
  const std::int64_t up = m.gated_mlp ? 2 : 1, seen = width_of(make);
  const bool shares = moe.shared_intermediate > 0, exchanges = make.sharding.attention_data > 1;
  const bool own_width = moe.latent > 0, summed_at_once = !exchanges && !own_width;
  const auto append_shared = [&] {
    return append_mlp(graph, make, MatrixGroup::shared_expert, moe.shared_intermediate, m.gated_mlp, input);
  };

  Vertex at = append(graph, make.unquantised_gemm("moe_router", m.hidden, scores), {input});
  if (own_width) at = append(graph, make.gemm(MatrixGroup::mlp, "moe_latent_down", m.hidden, seen), {at});
  if (exchanges) at = append_exchange(graph, make, false, at);
  at = append(graph, grouped("moe_gate_up", make, seen, up * width), {at, input});
  at = append(graph, of_experts("moe_act", make, active_here * static_cast<double>((up + 1) * width)), {at});
  at = append(graph, grouped("moe_down", make, width, seen), {at});
  if (shares && summed_at_once) return append(graph, summed(make, active_here, true), {at, append_shared()});
  at = append(graph, summed(make, active_here, false), {at});
  if (summed_at_once) return at;
  if (exchanges) at = append_exchange(graph, make, true, at);
  if (own_width) at = append(graph, make.gemm(MatrixGroup::mlp, "moe_latent_up", seen, m.hidden), {at});
  return shares ? append(graph, make.elementwise("moe_shared_sum", 3 * hidden), {at, append_shared()}) : at;
}

}  // namespace weir
