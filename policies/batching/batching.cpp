#include "policies/batching/batching.h"

#include <algorithm>

#include "policies/batching/orders.h"

namespace weir {

// One factory per file; add yours here and in the table, nowhere else in C++. Another order of waiting
// requests is a row of orders.cpp.
std::shared_ptr<const BatchingPolicy> make_static_batching(Params& params);
std::shared_ptr<const BatchingPolicy> make_orca_batching(Params& params);
std::shared_ptr<const BatchingPolicy> make_prefill_first_batching(Params& params);
std::shared_ptr<const BatchingPolicy> make_chunked_prefill_batching(Params& params);
std::shared_ptr<const BatchingPolicy> make_priority_batching(Params& params);
std::shared_ptr<const BatchingPolicy> make_sub_batch_interleaving(Params& params);
std::shared_ptr<const BatchingPolicy> make_adaptive_chunk_interleaving(Params& params);
std::shared_ptr<const BatchingPolicy> make_asymmetric_pipelining(Params& params);

namespace {

Catalog<BatchingPolicy> all_policies() {
  Catalog<BatchingPolicy> table = {
      {"static", "takes what waits when idle and runs it to the end of all; nobody joins (FasterTransformer)",
       make_static_batching},
      {"orca", "requests join and leave every step, whole prompts beside decodes, full reservation (Orca)",
       make_orca_batching},
      {"prefill_first", "steps of whole prompts alone while any fit, else of decodes (vLLM v0)",
       make_prefill_first_batching},
      {"chunked_prefill", "decodes, then chunks of prompts up to the token budget (vLLM v1, Sarathi-Serve)",
       make_chunked_prefill_batching, by_default},
      {"priority",
       "chunked_prefill by classes of urgency, the less urgent preempted for the others (vLLM v1)",
       make_priority_batching},
      {"sub_batch_interleaving", "whole prompts beside decodes, in two halves side by side (NeuPIMs)",
       make_sub_batch_interleaving},
      {"adaptive_chunk_interleaving",
       "decodes in two halves, chunks of prompts as long as the other half's attention on the PIM takes (L3)",
       make_adaptive_chunk_interleaving},
      {"asymmetric_pipelining",
       "decodes with KV cache in the host's memory beside the GPU's own, as many as its time hides (NEO)",
       make_asymmetric_pipelining},
  };
  const auto chunked = std::ranges::find(table, "chunked_prefill", &CatalogEntry<BatchingPolicy>::name);
  const Catalog<BatchingPolicy> orders = waiting_orders();
  table.insert(chunked + 1, orders.begin(), orders.end());
  return table;
}

}  // namespace

const Catalog<BatchingPolicy>& batching_policies() {
  static const Catalog<BatchingPolicy> table = all_policies();
  return table;
}

}  // namespace weir
