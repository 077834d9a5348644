#include "models/llm/kv_parts.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace weir {
namespace {

std::vector<int> stages_of_layers(const Architecture& model, const Sharding& sharding) {
  std::vector<int> stages;
  for (int stage = 0; stage < sharding.pipeline; ++stage)
    stages.insert(stages.end(), static_cast<std::size_t>(stage_layers(model, sharding, stage)), stage);
  return stages;
}

// The share of what rank `to` of so many keeps that rank `from` of so many sends it.
double share_of(int from, int from_ranks, int to, int to_ranks) {
  const int first = std::max(from * to_ranks, to * from_ranks),
            last = std::min((from + 1) * to_ranks, (to + 1) * from_ranks);
  return static_cast<double>(std::max(0, last - first)) / from_ranks;
}

}  // namespace

std::vector<KvPart> kv_parts(const Architecture& model, const Precision& precision, const Sharding& from,
                             const Sharding& to) {
  const std::vector<int> from_stages = stages_of_layers(model, from), to_stages = stages_of_layers(model, to);
  std::map<std::tuple<int, int, int, int>, KvPart> parts;
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    const AttentionKind& kind = model.layers[layer].attention;
    const KvBytes kept_there = kv_bytes(of_rank(kind, to), precision);
    if (kept_there == KvBytes()) continue;
    const bool whole = kv_bytes(of_rank(kind, from), precision) == kv_bytes(kind, precision);
    for (int rank = 0; rank < to.tensor; ++rank)
      for (int sender = 0; sender < from.tensor; ++sender) {
        const double share = whole ? (sender == rank * from.tensor / to.tensor ? 1 : 0)
                                   : share_of(sender, from.tensor, rank, to.tensor);
        if (share == 0) continue;
        KvPart& part = parts[{from_stages[layer], sender, to_stages[layer], rank}];
        part.token += share * kept_there.token;
        part.request += share * kept_there.request;
      }
  }
  std::vector<KvPart> all;
  for (auto& [ends, part] : parts) {
    std::tie(part.from_stage, part.from_rank, part.to_stage, part.to_rank) = ends;
    all.push_back(part);
  }
  return all;
}

}  // namespace weir
