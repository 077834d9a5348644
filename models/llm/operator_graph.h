#pragma once
// One rank's share of a decoder-only model as parts: operators that repeat over some layers. Sizes are per
// rank, after tensor, pipeline and expert sharding; rows follow the batch. Policies place operators on units
// and add their own (prefetch, transfers) through rewrite.h; devices time them; the engine runs them.
#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/latency/expert_load.h"
#include "models/llm/architecture.h"
#include "models/machine/data_type.h"
#include "models/machine/kernel.h"

namespace weir {

// The KV caches that lie in these channels: [first, last). All of them, unless a policy says otherwise.
struct ChannelRange {
  int first = 0, last = std::numeric_limits<int>::max();
  bool has(int channel) const { return channel >= first && channel < last; }
  bool operator==(const ChannelRange&) const = default;
};

// An operator has as many rows as there are of these in the batch.
enum class Rows {
  tokens,           // every token of the iteration
  sequences,        // those that may yield a token (LM head): the last of a prompt, all rows of a decode
  prompt_tokens,    // tokens of prompts
  prompt_contexts,  // these, and those of the same prompts that are in the cache
  decodes,
  drafts,          // one a sequence that yields tokens: who drafts its next one; attention: of decodes
  routed,          // tokens of all ranks that share a layer's experts: where their attention is data-parallel
  routed_prompts,  // these in steps with prompts,
  routed_decodes,  // and in steps without
  step,            // one, whatever the batch is
};
inline constexpr std::size_t row_kinds = 10;
// Without attention, an operator has so many rows in a batch.
std::int64_t rows_of(Rows rows, const ChannelRange& channels, const BatchShape& batch);

struct Operator {
  // The layer as profiles name it (devices/profile/profile_bundle.h), the collective's kind, or of experts:
  // moe_router, moe_dispatch, moe_gate_up, moe_act, moe_down, moe_sum (adding up a token's experts),
  // moe_combine, moe_shared_sum.
  std::string name;
  Kernel kernel;               // for one row of the rank's share
  Rows rows = Rows::tokens;    // attention: decodes, prompts, or (tokens) both
  ChannelRange channels = {};  // attention: of the decodes; copies: of what they copy
  double begin = 0, end = 1;   // of a kernel in chunks: this one's share of its columns, or of the payload
  double share = 1;            // of its rows, evenly: what members of its unit have of all channels
  int unit = 0;                // set by the partitioning policy: index into the device's units
  bool each_member = false;    // the members of its unit run it by themselves, each what it has to do
  int member = -1;             // of its unit, the one that runs it; -1: all of them
  int slot = -1;               // BatchShape::side says there what it does in each layer; -1: rows do
  bool rotates = false;        // that is the member of layer 0; in layer l it is the one l places on

  KernelKind kind() const { return kind_of(kernel); }
  template <class K>
  const K* as() const {
    return kernel_as<K>(kernel);
  }
  bool operator==(const Operator&) const = default;
};

inline bool is_collective(const Operator& op) {
  return op.as<Communication>() != nullptr;
}

// Attention, and copies of what it reads and yields, follow contexts and where they lie; all others cost the
// same for the same number of rows.
inline bool follows_contexts(const Operator& op) {
  return op.as<Attention>() || op.as<Copy>();
}

// Nothing to do in a step of decodes alone.
inline bool is_of_prompts(const Operator& op) {
  return op.rows == Rows::prompt_tokens || op.rows == Rows::prompt_contexts;
}

// And these are another amount in each layer.
inline bool differs_by_layer(const Operator& op) {
  return op.slot >= 0;
}

// The operator's kernel with its share of this batch, in one layer of its part. Valid as long as the operator
// and the batch's spans.
KernelWork lowered(const Operator& op, const BatchShape& batch, std::int64_t layer = 0);

using OperatorGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Operator>;

// How a layer's experts lie on ranks whose attention is data-parallel, and how tokens get there.
struct ExpertSharing {
  enum class Communication { all_gather, deepep, nvlink_all_to_all };
  Communication communication = Communication::all_gather;
  ExpertDistribution distribution = ExpertDistribution::uniform;
  double exponent = 1.2;  // of a power law
  int redundant = 0;      // copies of experts beside these, over all ranks
  std::uint64_t seed = 1;

  bool skewed() const { return distribution != ExpertDistribution::uniform || redundant > 0; }
};

struct Sharding {
  int tensor = 1, pipeline = 1;
  int expert = 1;          // groups of a stage's ranks that hold different experts; divides ranks()
  bool pad_heads = false;  // heads that cannot be dealt out evenly are padded
  // Tensor groups of a stage, each with requests of its own: all but the experts is there once a group. The
  // experts are dealt out over all of its ranks.
  int attention_data = 1;
  ExpertSharing experts = {};

  int ranks() const { return tensor * attention_data; }  // of a stage
};

// A rank's of these of the model; padded ones count, as every rank computes them.
HeadCounts heads_of_rank(HeadCounts all, const Sharding& sharding);
// A rank's share of a layer's attention: its heads, and what every rank has of latents.
AttentionKind of_rank(const AttentionKind& kind, const Sharding& sharding);

// Operators that run so many times, one after the other: each time its sources start when all sinks of the
// time before have ended. Edges are data flow, residual included; vertices are numbered in a topological
// order, then come prefetches. What is fused into its neighbour (the adding of residuals into the norm that
// follows, biases into GEMMs, quantising of inputs) has no operator of its own.
struct Part {
  std::string name;
  OperatorGraph operators;
  std::int64_t times = 1;
};

// Parts follow each other as the times of one do. build_stage's are the embedding ("prologue"), one for each
// run of layers that repeats ("block"), and what makes tokens ("epilogue"), each where the stage has it.
struct StageGraph {
  std::vector<Part> parts;

  // Bytes, as the model's are; all of them are on the device, unless a policy keeps some in its host's memory
  // and brings them over in each step: then the device has room for these and for what is on its way. Some of
  // these may be neurons, now one and now another.
  struct Weights {
    Bytes all, on_device, in_host, neurons;
  };
  Weights weights = {};

  // Steps of decodes alone run this; null: they run the same operators but for those of prompts.
  std::shared_ptr<const StageGraph> of_decodes = {};

  // Exceptions: operators that wait for single ones of the part before, or of the time before, not for all
  // that ends it. One that is early from a part into the same part starts at once the first time.
  struct Early {
    std::size_t part, op, after_part, after;  // indices into `parts`, vertices
  };
  std::vector<Early> early = {};
  std::vector<Operator> windows = {};  // the collectives that prefetches run beside
  std::int64_t layers = 0;             // of the model, however parts run them
};

// All of its operators, as long as it lives.
std::vector<const Operator*> operators_of(const StageGraph& stage);
// Throws std::out_of_range where there is none.
const Part& part_named(const StageGraph& stage, std::string_view name);

// Calls back with every operator of the stage and how often a step runs it.
template <class Action>
void for_each_operator(const StageGraph& stage, const Action& action) {
  for (const Part& part : stage.parts)
    for (std::size_t v = 0; v < boost::num_vertices(part.operators); ++v)
      action(part.operators[v], static_cast<double>(part.times));
}

// Every reason why a model cannot be cut this way (heads, experts, layers), in words; empty if it can.
std::vector<std::string> sharding_problems(const Architecture& model, const Sharding& sharding);
std::int64_t stage_layers(const Architecture& model, const Sharding& sharding, int stage);
std::span<const LayerKind> layers_of_stage(const Architecture& model, const Sharding& sharding, int stage);
// The vocabulary as the embedding and the LM head hold it: a multiple of 64 and of the tensor ranks.
std::int64_t padded_vocabulary(const Architecture& model, const Sharding& sharding);
// Throws std::invalid_argument where sharding_problems is not empty or there is no such stage; so does
// weight_bytes.
StageGraph build_stage(const Architecture& model, const Precision& precision, const Sharding& sharding,
                       int stage);

// Bytes of one rank, with the scales that their types say (StoredType).
Bytes weight_bytes(const Architecture& model, const Precision& precision, const Sharding& sharding,
                   int stage);
// The bytes that a kernel library's padding adds to the mxfp4 experts of the rank's stage.
Bytes padding_bytes(const StageGraph& stage, const ExpertPadding& padding);
// The bytes that a layer keeps, in a model or on a rank: for each token of a context, and for each request,
// however long it is (states of linear attention, keys and values in sliding windows).
struct KvBytes {
  Bytes token, request;
  bool operator==(const KvBytes&) const = default;
};
KvBytes kv_bytes(const AttentionKind& kind, const Precision& precision);
// The sums over the layers of one rank.
Bytes kv_bytes_per_token(const Architecture& model, const Precision& precision, const Sharding& sharding,
                         int stage);
Bytes kv_bytes_per_request(const Architecture& model, const Precision& precision, const Sharding& sharding,
                           int stage);

// Multiply-add counted as two. One token's forward pass through the whole model at the given context length.
Flops flops_per_token(const Architecture& model, std::int64_t context);

}  // namespace weir
