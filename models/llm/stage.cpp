#include "models/llm/stage.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "models/llm/parts/layer_runs.h"
#include "models/llm/parts/rewrite.h"

namespace weir {
namespace {

// Norms as vLLM's fused_add_rms_norm does it: reads the branch's output and the residual, writes their sum
// and the norm of it. Compiled LayerNorm models (OPT) fuse alike.
constexpr double fused_norm = 4;

// Greedy sampling in vLLM, a logit: read (16 bit), written as fp32, read again for the argmax. The measured
// samplers of LLMServingSim's profiles (RTX 4090, RTX PRO 6000, Llama-3.1-8B, 128 to 256 sequences) take 10
// to 11 bytes a logit.
constexpr double sampler_fp32_bytes = 8;

Vertex append_any_mlp(OperatorGraph& graph, const OperatorMaker& make, Vertex input) {
  if (make.layer.moe.experts > 0) return append_experts(graph, make, input);
  return append_mlp(graph, make, MatrixGroup::mlp, make.layer.intermediate, make.model.gated_mlp, input);
}

// The tensor group adds up the output of a branch; blocks of four norms (Gemma 2, GLM-4) then norm it by
// itself.
Vertex append_end_of_branch(OperatorGraph& graph, const OperatorMaker& make, Vertex branch) {
  if (make.sharding.tensor > 1) branch = append(graph, make.all_reduce(), {branch});
  if (make.model.block_norms < 4) return branch;
  return append(graph, make.elementwise("layernorm", 2 * static_cast<double>(make.model.hidden)), {branch});
}

// A layer may lack attention or MLP, with the norm before it.
OperatorGraph sequential_block(const OperatorMaker& make) {
  const double hidden = static_cast<double>(make.model.hidden);
  const auto norm = [&] { return make.elementwise("layernorm", fused_norm * hidden); };
  OperatorGraph graph;
  std::optional<Vertex> first, branch;
  if (make.layer.has_attention()) {
    first = append(graph, norm(), {});
    branch = append_end_of_branch(graph, make, append_attention(graph, make, *first));
  }
  if (make.layer.has_mlp()) {
    const Vertex second = branch ? append(graph, norm(), {*branch, *first}) : append(graph, norm(), {});
    append_end_of_branch(graph, make, append_any_mlp(graph, make, second));
  }
  return graph;
}

// Attention and MLP read the same hidden state and are summed before a single all-reduce (vLLM, falcon.py:
// reduce_row_parallel_results is false). The first norm adds both branches to the residual (reads three,
// writes two), a second one only norms.
OperatorGraph parallel_block(const OperatorMaker& make) {
  const double hidden = static_cast<double>(make.model.hidden);
  OperatorGraph graph;
  const Vertex first = append(graph, make.elementwise("layernorm", 5 * hidden), {});
  const Vertex second =
      make.model.block_norms == 2 ? append(graph, make.elementwise("layernorm", 2 * hidden), {first}) : first;
  const Vertex attention = append_attention(graph, make, first);
  const Vertex mlp = append_any_mlp(graph, make, second);
  if (make.sharding.tensor > 1) append(graph, make.all_reduce(), {attention, mlp});
  return graph;
}

// Every rank looks up the rows of its part of the vocabulary and writes zeros for the others; the all-reduce
// joins them (vLLM, VocabParallelEmbedding). A learned position is one row more.
OperatorGraph prologue(const OperatorMaker& make) {
  const double hidden = static_cast<double>(make.model.hidden);
  OperatorGraph graph;
  const double rows = make.model.learned_positions > 0 ? 2 : 1;
  Operator lookup = make.elementwise("embedding", hidden);
  std::get<Elementwise>(lookup.kernel).per_row +=
      Bytes(rows * hidden * bytes_per_element(make.types_of(MatrixGroup::embedding).weights));
  Vertex embedding = append(graph, std::move(lookup), {});
  if (make.sharding.tensor > 1) embedding = append(graph, make.all_reduce(), {embedding});
  if (make.model.embedding_norm) append(graph, make.elementwise("embedding_norm", 2 * hidden), {embedding});
  return graph;
}

// The norm runs over every token, as in vLLM's model.forward(); the rows that yield a token are picked after
// it.
OperatorGraph epilogue(const OperatorMaker& make) {
  const Architecture& m = make.model;
  const std::int64_t vocabulary = padded_vocabulary(m, make.sharding);
  const double logit = bytes_per_element(make.precision.unquantised());
  OperatorGraph graph;
  Vertex at =
      append(graph, make.elementwise("final_layernorm", fused_norm * static_cast<double>(m.hidden)), {});
  Operator head = make.gemm(MatrixGroup::head, "lm_head", m.hidden, vocabulary / make.sharding.tensor);
  std::get<Gemm>(head.kernel).outputs = make.precision.unquantised();
  head.rows = Rows::sequences;
  at = append(graph, std::move(head), {at});
  if (make.sharding.tensor > 1) {
    const Bytes logits(static_cast<double>(vocabulary) * logit);
    at = append(graph,
                {.name = "all_gather",
                 .kernel = Communication{Collective::all_gather, logits, make.sharding.tensor},
                 .rows = Rows::sequences},
                {at});
  }
  const Bytes sampled(static_cast<double>(m.vocabulary) * (logit + sampler_fp32_bytes));
  append(graph, {.name = "sampler", .kernel = Elementwise{sampled}, .rows = Rows::sequences}, {at});
  return graph;
}

}  // namespace

Operator OperatorMaker::gemm(MatrixGroup group, const char* name, std::int64_t in, std::int64_t out) const {
  const auto [weights, activations] = types_of(group);
  return {.name = name, .kernel = Gemm{in, out, weights, activations, precision.hidden()}};
}

Operator OperatorMaker::unquantised_gemm(const char* name, std::int64_t in, std::int64_t out) const {
  const DataType type = precision.unquantised();
  return {.name = name, .kernel = Gemm{in, out, precision.unquantised_weights(), type, type}};
}

Operator OperatorMaker::elementwise(const char* name, double elements) const {
  return {.name = name, .kernel = Elementwise{Bytes(elements * bytes_per_element(precision.hidden()))}};
}

Operator OperatorMaker::all_reduce() const {
  const Bytes payload(static_cast<double>(model.hidden) * bytes_per_element(precision.hidden()));
  return {.name = "all_reduce", .kernel = Communication{Collective::all_reduce, payload, sharding.tensor}};
}

Vertex append_mlp(OperatorGraph& graph, const OperatorMaker& make, MatrixGroup group,
                  std::int64_t intermediate, bool gated, Vertex input) {
  const std::int64_t width = intermediate / make.sharding.tensor;
  const std::int64_t up = gated ? 2 * width : width;
  Vertex at = append(graph, make.gemm(group, "gate_up_proj", make.model.hidden, up), {input});
  at = append(graph, make.elementwise("act_fn", static_cast<double>(up + width)), {at});
  return append(graph, make.gemm(group, "down_proj", width, make.model.hidden), {at});
}

StageGraph build_stage(const Architecture& model, const Precision& precision, const Sharding& sharding,
                       int stage) {
  const auto problems = sharding_problems(model, sharding);
  if (!problems.empty()) throw std::invalid_argument(model.name + ": " + problems.front());
  const auto make = [&](const LayerKind& layer) { return OperatorMaker{model, layer, precision, sharding}; };
  const std::span<const LayerKind> layers = layers_of_stage(model, sharding, stage);
  StageGraph graph;
  graph.layers = static_cast<std::int64_t>(layers.size());
  if (stage == 0) graph.parts.push_back({"prologue", prologue(make(layers.front()))});
  for (const LayerRun& run : runs_of(layers)) {
    OperatorGraph block;
    for (const LayerKind& layer : run.layers)
      block = one_after_the_other(
          block, model.parallel_block ? parallel_block(make(layer)) : sequential_block(make(layer)));
    graph.parts.push_back({"block", block, run.times});
  }
  if (stage == sharding.pipeline - 1) graph.parts.push_back({"epilogue", epilogue(make(layers.back()))});
  graph.weights.all = graph.weights.on_device = weights_of(graph, model, precision, sharding, stage);
  return graph;
}

}  // namespace weir
