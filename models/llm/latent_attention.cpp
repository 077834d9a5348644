// Latent attention (DeepSeek's MLA) as vLLM runs it (v1/attention/backends/mla/common.py): prompts make keys
// and values of every head of the latents, their own and those in the cache (`kv_b_proj`), and attend to
// these. Decodes take the matrices that make keys into their queries and attend to the latents themselves, as
// heads that share one key; those that make values come behind. Every rank of a tensor group has the whole
// cache. With an indexer, the layer's own or one before it, all tokens do as decodes
// (backends/mla/flashmla_sparse.py).
#include "models/llm/stage.h"

namespace weir {
namespace {

class Latents {
 public:
  Latents(OperatorGraph& graph, const OperatorMaker& make, const LatentAttention& a)
      : graph_(graph), make_(make), a_(a) {}

  Vertex append_to(Vertex input) {
    const Vertex normed = latents(input);
    Vertex at = normed;
    if (a_.q_rank > 0)
      at = add(make_.gemm(MatrixGroup::attention, "mla_q_proj", a_.q_rank, a_.heads * a_.key_dim()), {at});
    at = add(make_.elementwise("mla_rotary", 2. * static_cast<double>((a_.heads + 1) * a_.rope_dim)), {at});
    if (a_.index_heads > 0) return output({absorbed(Rows::tokens, {at, indexed(normed)})});
    if (a_.top_k > 0) return output({absorbed(Rows::tokens, {at})});
    return output({expanded(at), absorbed(Rows::decodes, {at})});
  }

 private:
  Vertex add(Operator op, std::initializer_list<Vertex> inputs) {
    return append(graph_, std::move(op), inputs);
  }

  // Latents of queries and of keys are one product, the same on every rank (vLLM, fused_qkv_a_proj).
  Vertex latents(Vertex input) {
    const std::int64_t q = a_.q_rank > 0 ? a_.q_rank : a_.heads * a_.key_dim();
    const Vertex at = add(
        make_.gemm(MatrixGroup::attention, "mla_down_proj", make_.model.hidden, q + a_.latent()), {input});
    return add(make_.elementwise("mla_norm", 2. * static_cast<double>(a_.q_rank + a_.kv_rank)), {at});
  }

  Vertex output(std::initializer_list<Vertex> attended) {
    return add(make_.gemm(MatrixGroup::attention, "mla_o_proj", a_.heads * a_.value_dim, make_.model.hidden),
               attended);
  }

  Vertex expanded(Vertex input) {
    Operator keys = make_.gemm(MatrixGroup::attention, "mla_kv_proj", a_.kv_rank,
                               a_.heads * (a_.nope_dim + a_.value_dim));
    keys.rows = Rows::prompt_contexts;
    const DataType type = make_.precision.hidden();
    return add({.name = "attention",
                .kernel = Attention{.query_heads = a_.heads,
                                    .kv_heads = a_.heads,
                                    .head_dim = a_.key_dim(),
                                    .activations = type,
                                    .kv_cache = type,
                                    .keys = Attention::Keys::expanded,
                                    .value_dim = a_.value_dim},
                .rows = Rows::prompt_tokens},
               {add(std::move(keys), {input})});
  }

  // A matrix a head, in 16 bits whatever the weights are (vLLM: W_UK_T and W_UV, dequantised).
  Operator each_head(const char* name, std::int64_t in, std::int64_t out, Rows rows) const {
    Operator op = make_.unquantised_gemm(name, in, out);
    std::get<Gemm>(op.kernel).matrices = a_.heads;
    op.rows = rows;
    return op;
  }

  Vertex absorbed(Rows rows, std::initializer_list<Vertex> inputs) {
    Vertex at = add(each_head("mla_absorb", a_.nope_dim, a_.kv_rank, rows), inputs);
    at = add({.name = "attention",
              .kernel = Attention{.query_heads = a_.heads,
                                  .kv_heads = 1,
                                  .head_dim = a_.latent(),
                                  .activations = make_.precision.hidden(),
                                  .kv_cache = make_.precision.kv_cache,
                                  .keys = Attention::Keys::latent,
                                  .value_dim = a_.kv_rank,
                                  .window = a_.top_k},
              .rows = rows},
             {at});
    return add(each_head("mla_values", a_.kv_rank, a_.value_dim, rows), {at});
  }

  // Queries, a key and a weight a head; scores of the whole context, of which the largest are kept. Every
  // rank does all of it (vLLM, models/deepseek_v2.py, Indexer and sparse_attn_indexer: queries and keys are
  // rotated, quantised with the weights, the key is cached, positions become places in the cache). What the
  // top-k kernel reads of the scores is left out: 4 bytes a token of the context beside its key's 132.
  Vertex indexed(Vertex latents) {
    Vertex at =
        add(make_.gemm(MatrixGroup::attention, "dsa_q_proj", a_.q_rank, a_.index_heads * a_.index_dim),
            {latents});
    at = add(make_.unquantised_gemm("dsa_k_proj", make_.model.hidden, a_.index_dim + a_.index_heads), {at});
    const auto queries = static_cast<double>(a_.index_heads * a_.index_dim);
    const auto key = static_cast<double>(a_.index_dim), top = static_cast<double>(a_.top_k);
    const auto rotated = static_cast<double>((a_.index_heads + 1) * a_.rope_dim);
    at = add(make_.elementwise("dsa_norm", 2 * key), {at});
    at = add(make_.elementwise("dsa_rotary", 2 * rotated), {at});
    at = add(make_.elementwise("dsa_quantise", 1.5 * queries), {at});
    at = add(make_.elementwise("dsa_cache", 1.5 * key), {at});
    at = add({.name = "dsa_scores",
              .kernel = Attention{.query_heads = a_.index_heads,
                                  .kv_heads = 1,
                                  .head_dim = a_.index_dim,
                                  .activations = make_.precision.hidden(),
                                  .kv_cache = DataType::fp8,
                                  .keys = Attention::Keys::index}},
             {at});
    at = add(index_copy("dsa_top_k", top), {at});
    return add(index_copy("dsa_places", 2 * top), {at});
  }

  // Positions of 32 bits.
  static Operator index_copy(const char* name, double positions) {
    return {.name = name, .kernel = Elementwise{Bytes(4 * positions)}};
  }

  OperatorGraph& graph_;
  const OperatorMaker& make_;
  const LatentAttention& a_;
};

}  // namespace

Vertex append_attention_kind(OperatorGraph& graph, const OperatorMaker& make, const LatentAttention& a,
                             Vertex input) {
  return Latents(graph, make, a).append_to(input);
}

}  // namespace weir
