// A gated delta net as vLLM runs it (models/qwen3_next.py, Qwen3NextGatedDeltaNet): a decode reads and writes
// its request's state and no cache. Kernels are bound by memory: none has arithmetic that counts.
#include <algorithm>

#include "models/llm/stage.h"

namespace weir {
namespace {

constexpr double chunk_tokens = 64;  // flash-linear-attention, ops/gated_delta_rule/chunk.py
constexpr double state_bytes = 4;    // fp32

// ESTIMATE: what the six kernels of chunk_gated_delta_rule read and write of a prompt's token and head, from
// their arguments: k in four of them, q and v in one, w and u and the corrected v between two, a row of the
// chunk's matrix, in 32 bits and then in 16, the state of each chunk between two, the output. Measured on
// nothing.
double chunk_elements(const LinearAttention& a) {
  const auto key = static_cast<double>(a.key_dim), value = static_cast<double>(a.value_dim);
  const double matrix = 6 * chunk_tokens, states = 2 * key * value / chunk_tokens;
  return static_cast<double>(a.value_heads) * (7 * key + 6 * value + matrix + states);
}

}  // namespace

Vertex append_attention_kind(OperatorGraph& graph, const OperatorMaker& make, const LinearAttention& a,
                             Vertex input) {
  const std::int64_t hidden = make.model.hidden;
  const auto convolved = static_cast<double>(a.convolved()), values = static_cast<double>(a.values());
  const std::int64_t gate = a.gate_rank > 0 ? 0 : a.values();
  const auto gemm = [&](const char* name, std::int64_t in, std::int64_t out) {
    return make.gemm(MatrixGroup::attention, name, in, out);
  };
  Vertex at = append(graph, gemm("linear_qkvz_proj", hidden, a.convolved() + gate), {input});
  if (a.gate_rank > 0) {  // vLLM, layers/kda.py: f_a, g_a are the same on every rank; f_b, g_b are not
    at = append(graph, gemm("linear_gates_down", hidden, 2 * a.gate_rank), {at});
    at = append(graph, gemm("linear_gates_up", a.gate_rank, a.keys() + a.values()), {at});
  }
  if (a.rates > 0)
    at = append(graph, make.unquantised_gemm("linear_ba_proj", hidden, a.rates * a.value_heads), {at});
  if (a.convolution > 0) at = append(graph, make.elementwise("linear_convolution", 2 * convolved), {at});

  Operator chunks = make.elementwise("linear_chunks", chunk_elements(a));
  chunks.rows = Rows::prompt_tokens;
  // The state, what the convolution still has to see, and a token's own vectors.
  Operator step = make.elementwise(
      "linear_step",
      2 * convolved * static_cast<double>(std::max<std::int64_t>(0, a.convolution - 1)) + convolved + values);
  std::get<Elementwise>(step.kernel).per_row += Bytes(2 * state_bytes * static_cast<double>(a.state()));
  step.rows = Rows::decodes;
  const Vertex prompts = append(graph, std::move(chunks), {at}),
               decodes = append(graph, std::move(step), {at});

  at = append(graph, make.elementwise("linear_norm", 3 * values), {prompts, decodes});
  return append(graph, make.gemm(MatrixGroup::attention, "o_proj", a.values(), hidden), {at});
}

}  // namespace weir
