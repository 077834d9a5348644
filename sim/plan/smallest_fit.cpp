// What a user whose model does not fit asks next: how many devices would do.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

constexpr std::array degrees = {1, 2, 4, 8, 16, 32};

// As many groups of experts as it asks for, where its ranks can be dealt out so.
ReplicaSpec cut_as(const ReplicaSpec& spec, int tensor, int pipeline) {
  ReplicaSpec cut = spec;
  cut.parallelism.tensor = tensor;
  cut.parallelism.pipeline = pipeline;
  if (cut.parallelism.ranks() % cut.parallelism.expert != 0) cut.parallelism.expert = cut.parallelism.ranks();
  return cut;
}

// A block of KV cache beside weights and reserve, in every stage.
bool fits(const Scenario& s, const ReplicaSpec& spec, const Rank& rank) {
  const Sharding& cut = spec.parallelism;
  if (!sharding_problems(s.model, cut).empty()) return false;
  const Bytes memory = rank.on->spec().own().capacity, reserve = activation_reserve(s, spec, rank.links);
  for (int stage = 0; stage < cut.pipeline; ++stage) {
    const Bytes weights = weight_bytes(s.model, s.precision, cut, stage);
    const Bytes left = beside_weights(spec, memory, weights, reserve);
    const Bytes block = static_cast<double>(spec.kv_cache.block_tokens) * kv_bytes_per_token(s, spec, stage);
    if (left < kept_by_requests(s, spec, stage) + block) return false;
  }
  return true;
}

}  // namespace

// Of as many devices the one with fewer stages. Nothing where weights lie elsewhere too, or drafts have
// weights of their own.
std::string smallest_layout_that_fits(const Scenario& s, const ReplicaPlan& replica) {
  const ReplicaSpec& spec = replica.spec;
  if (spec.speculative || replica.rank.host_memory() || replica.rank.keeps_kv_elsewhere()) return "";
  std::vector<std::pair<int, int>> layouts;
  for (const int pipeline : degrees)
    for (const int tensor : degrees) layouts.emplace_back(tensor, pipeline);
  std::ranges::stable_sort(layouts, {}, [](const auto& layout) { return layout.first * layout.second; });
  for (const auto& [tensor, pipeline] : layouts) {
    if (pipeline > std::ssize(s.model.layers) || tensor * pipeline > degrees.back()) continue;
    const ReplicaSpec cut = cut_as(spec, tensor, pipeline);
    if (!fits(s, cut, replica.rank)) continue;
    return fmt::format("; the smallest layout that fits is tensor {}{}{}, {} of them", tensor,
                       pipeline > 1 ? fmt::format(" x pipeline {}", pipeline) : "",
                       cut.parallelism.attention_data > 1
                           ? fmt::format(" x attention_data {}", cut.parallelism.attention_data)
                           : "",
                       cut.parallelism.ranks() * pipeline);
  }
  return fmt::format("; no layout of up to {} of them fits", degrees.back());
}

}  // namespace weir
