#pragma once
// Which rank gets what of a request's KV cache, states and windows from which, where the cache moves from
// ranks that cut the model in one way to ranks that cut it in another. The rule of every move (hand-overs,
// tiers, swapping): a rank moves what it keeps, so that what several keep alike, latents or replicated heads,
// is moved once for each. Hand-overs ask, once for each pair of replicas; pure.
#include <vector>

#include "models/llm/operator_graph.h"

namespace weir {

struct KvPart {
  int from_stage = 0, from_rank = 0, to_stage = 0, to_rank = 0;  // ranks: of the tensor group
  Bytes token, request;  // sent for each token of the context, and once
};

// A rank gets its layers' heads from those that have them, and what one of these has whole (latents, a single
// KV head) from one alone, as vLLM's NIXL connector reads it (distributed/kv_transfer/kv_connector: each
// decode worker reads whole blocks of MLA).
std::vector<KvPart> kv_parts(const Architecture& model, const Precision& precision, const Sharding& from,
                             const Sharding& to);

}  // namespace weir
