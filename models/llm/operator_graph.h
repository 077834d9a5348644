#pragma once
// One rank's share of a decoder-only model as operators: a prologue, one decoder block repeated for the stage's
// layers, an epilogue. Sizes are per rank, after tensor, pipeline and expert sharding; rows follow the batch.
// Policies place operators on units and add their own (prefetch, transfers); devices time them; the engine runs them.
#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <string>

#include "models/llm/architecture.h"

namespace weir {

enum class OperatorKind {
  gemm,         // rows x in_features by in_features x out_features
  grouped_gemm, // the experts of one rank: `experts` matrices, rows spread over them by the router
  attention,    // prefill chunks and decodes against the KV cache
  elementwise,  // norms, activations, rotary embedding, residuals: bytes only
  all_reduce,
  all_gather,
  all_to_all,
};

enum class Rows {
  tokens,     // every token of the iteration
  sequences,  // one a sequence that yields a token (LM head)
};

struct Operator {
  std::string name;  // the profiler's layer name: qkv_proj, rotary_emb, attention, o_proj, ..., all_reduce
  OperatorKind kind = OperatorKind::elementwise;
  Rows rows = Rows::tokens;
  DataType weights = DataType::bf16, activations = DataType::bf16, kv_cache = DataType::bf16;
  std::int64_t in_features = 0, out_features = 0;            // gemm, grouped_gemm
  std::int64_t experts = 0, active = 0, total_experts = 0;   // grouped_gemm: on this rank; per token; in the layer
  std::int64_t query_heads = 0, kv_heads = 0, head_dim = 0;  // attention, on this rank
  Bytes bytes_per_row{};  // elementwise: read + written; collectives: payload
  int devices = 1;        // collectives: ranks taking part
  int unit = 0;           // set by the partitioning policy: index into the device's units
};

using OperatorGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Operator>;

struct Sharding {
  int tensor = 1, pipeline = 1, expert = 1;  // expert: expert groups inside the tensor group; divides tensor
};

struct StageGraph {
  OperatorGraph prologue, block, epilogue;  // empty where the stage has none
  std::int64_t layers = 0;                  // how often the block runs on this stage
};

// Every reason why a model cannot be cut this way (heads, experts, layers), in words; empty if it can.
std::vector<std::string> sharding_problems(const Architecture& model, const Sharding& sharding);
std::int64_t stage_layers(const Architecture& model, const Sharding& sharding, int stage);
StageGraph build_stage(const Architecture& model, const Precision& precision, const Sharding& sharding, int stage);

Bytes weight_bytes(const Architecture& model, const Precision& precision, const Sharding& sharding, int stage);
Bytes kv_bytes_per_token(const Architecture& model, const Precision& precision, const Sharding& sharding, int stage);

// Multiply-add counted as two. One token's forward pass through the whole model at the given context length.
Flops flops_per_token(const Architecture& model, std::int64_t context);

}  // namespace weir
