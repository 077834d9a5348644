#include "sim/plan/servable.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir {
namespace {

// As the router has it: of two roles both must do their part.
bool is_served(const Plan& plan, const Request& request) {
  bool begins = false, ends = request.output_tokens == 1, roles = false;
  for (const ReplicaPlan& replica : plan.replicas) {
    const bool able = can_serve(replica, request);
    (replica.spec.role == Role::decode ? ends : begins) |= able;
    roles = roles || replica.spec.role != Role::both;
  }
  return begins && (ends || !roles);
}

std::int64_t tokens(const Request& request) {
  return request.input_tokens + request.output_tokens;
}

}  // namespace

bool can_serve(const ReplicaPlan& replica, const Request& request) {
  const ReplicaSpec& spec = replica.spec;
  // A prefill replica hands over with the first token: the others never lie in its cache.
  const std::int64_t output = spec.role == Role::prefill ? 1 : request.output_tokens;
  return tokens(request) <= spec.max_model_len.value_or(tokens(request)) &&
         spec.batching->serves({request.arrival, request.input_tokens, output + spec.drafts()},
                               std::ranges::max(replica.kv_pools.blocks), spec.kv_cache.block_tokens);
}

std::optional<std::string> why_none_is_served(const Plan& plan) {
  const auto& requests = plan.scenario.workload.requests;
  if (requests.empty() || std::ranges::any_of(requests, [&](const Request& r) { return is_served(plan, r); }))
    return {};
  std::int64_t shortest = tokens(requests.front()), room = 0;
  for (const Request& request : requests) shortest = std::min(shortest, tokens(request));
  for (const ReplicaPlan& replica : plan.replicas) {
    const std::int64_t blocks =
        std::ranges::max(replica.kv_pools.blocks) * replica.spec.kv_cache.block_tokens;
    room = std::max(room, std::min(replica.spec.max_model_len.value_or(blocks), blocks));
  }
  return fmt::format(
      "no request can ever be served: the shortest of the {} has {} tokens, and a replica takes one of {} at "
      "the most (KV cache, max_model_len), or less by its batching; all will be rejected",
      requests.size(), shortest, room);
}

}  // namespace weir
