#pragma once
// Speculative decoding as operators: who drafts tokens beside a model, which then verifies them in its next
// step as further rows of a decode (BatchShape::decode_rows). A plan adds them to the last stage of a
// replica. Pure.
#include "models/llm/operator_graph.h"

namespace weir {

struct Drafting {
  enum class By {
    lookup,  // of the request's own text (n-grams): no operator, no memory
    layer,   // a layer of the model's own kind behind its last one (MTP, EAGLE), with the model's embedding
             // and LM head
    model    // another model, whole, on the same tensor-parallel ranks
  };
  By by = By::lookup;
  std::int64_t tokens = 0;  // drafts of a sequence in a step, >= 1
  Architecture model = {};  // By::model: that one
};

// Every reason why the drafts cannot be cut over the tensor ranks of the target, in words.
std::vector<std::string> drafting_problems(const Drafting& drafting, const Sharding& target);

// Appends what drafts `tokens` tokens to the target's last stage, as vLLM v1 does: one forward over all rows
// of the step, which fills the drafts' own KV cache and gives the first draft, and for each further one a
// forward of a row a sequence. Their weights are added to the stage's.
void append_drafts(StageGraph& last_stage, const Drafting& drafting, const Architecture& target,
                   const Precision& precision, const Sharding& sharding);

// Bytes of one rank of the last stage, for a token of the drafts' own KV cache.
Bytes draft_kv_bytes_per_token(const Drafting& drafting, const Architecture& target,
                               const Precision& precision, const Sharding& sharding);

}  // namespace weir
