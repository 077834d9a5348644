// State spaces as vLLM runs them (layers/mamba/mamba_mixer.py, mamba_mixer2.py and short_conv.py): a decode
// reads and writes its request's state and no cache. Kernels are bound by memory: none has arithmetic that
// counts.
#include "models/llm/stage.h"

namespace weir {
namespace {

constexpr double scan_tokens = 256;  // Mamba-2's chunk_size (Mamba2Config)

// ESTIMATE: what the kernels of a prompt's scan read and write a token, from their arguments, in 16 bits.
// Mamba: one that reads channels, step sizes, gates and what selects, and writes channels. Mamba-2: two that
// read channels, one that writes them; what selects in two; the state of each chunk, in 32 bits, between
// two. Measured on nothing.
double scanned_elements(const StateSpace& a) {
  const auto inner = static_cast<double>(a.inner), state = static_cast<double>(a.state);
  if (a.heads == 0) return 4 * inner + 2 * state;
  return 3 * inner + 4 * static_cast<double>(a.groups) * state + 4 * inner * state / scan_tokens;
}

// The channels' step sizes and what goes in and out of their states, of which each rank adds up a part.
Vertex append_selection(OperatorGraph& graph, const OperatorMaker& make, const StateSpace& a, Vertex at) {
  at = append(graph, make.gemm(MatrixGroup::attention, "ssm_x_proj", a.inner, a.selected()), {at});
  if (make.sharding.tensor > 1) {
    const Bytes part(static_cast<double>(a.selected()) * bytes_per_element(make.precision.hidden()));
    at = append(
        graph,
        {.name = "all_reduce", .kernel = Communication{Collective::all_reduce, part, make.sharding.tensor}},
        {at});
  }
  if (a.inner_norms)
    at = append(graph, make.elementwise("ssm_norm", 2 * static_cast<double>(a.selected())), {at});
  return append(graph, make.gemm(MatrixGroup::attention, "ssm_dt_proj", a.step_rank, a.inner), {at});
}

// The state of prompts, and of decodes.
Vertex append_states(OperatorGraph& graph, const OperatorMaker& make, const StateSpace& a, Vertex at) {
  Operator scan = make.elementwise("ssm_scan", scanned_elements(a));
  scan.rows = Rows::prompt_tokens;
  Operator step = make.elementwise("ssm_step", static_cast<double>(a.convolved() + a.inner));
  std::get<Elementwise>(step.kernel).per_row +=
      Bytes(2. * static_cast<double>(a.state_bytes * a.inner * a.state));
  step.rows = Rows::decodes;
  const Vertex prompts = append(graph, std::move(scan), {at}), decodes = append(graph, std::move(step), {at});
  const double norm = (a.output_norm ? 3. : 2.) * static_cast<double>(a.inner);
  return append(graph, make.elementwise("ssm_gate", norm), {prompts, decodes});
}

}  // namespace

Vertex append_attention_kind(OperatorGraph& graph, const OperatorMaker& make, const StateSpace& a,
                             Vertex input) {
  const std::int64_t hidden = make.model.hidden;
  Vertex at = append(graph, make.gemm(MatrixGroup::attention, "ssm_in_proj", hidden, a.projected()), {input});
  // A step reads and writes the earlier inputs in the convolution's window beside the token's own.
  const auto seen = static_cast<double>(a.convolved() * (1 + a.convolution - 1));
  at = append(graph, make.elementwise("ssm_convolution", 2 * seen), {at});
  if (a.step_rank > 0) at = append_selection(graph, make, a, at);
  if (a.state > 0) at = append_states(graph, make, a, at);
  return append(graph, make.gemm(MatrixGroup::attention, "o_proj", a.inner, hidden), {at});
}

Vertex append_attention_kind(OperatorGraph& graph, const OperatorMaker& make, const HybridAttention& a,
                             Vertex input) {
  const Vertex heads = append_attention_kind(graph, make, a.heads, input);
  // vLLM runs the two mixers of an input one after the other (models/falcon_h1.py).
  const Vertex states = append_attention_kind(graph, make, a.states, heads);
  return append(graph, make.elementwise("mixer_sum", 3 * static_cast<double>(make.model.hidden)),
                {heads, states});
}

Vertex append_attention_kind(OperatorGraph&, const OperatorMaker&, const NoAttention&, Vertex input) {
  return input;
}

}  // namespace weir
