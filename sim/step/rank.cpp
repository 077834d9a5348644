#include "sim/step/rank.h"

#include "devices/kernel_shapes.h"
#include "models/llm/parts/spread.h"
#include "sim/step/cost/slowest_rank.h"

namespace weir {
namespace {

// Members of a unit share what lies in one channel.
MemberChannels member_channels(const Rank& rank) {
  if (rank.placed_channels() == 1) return MemberChannels::even;
  if (!rank.placement->spreads_layers()) return MemberChannels::own;
  return rank.kv_memory().evenly_filled ? MemberChannels::even : MemberChannels::rotating;
}

std::vector<KernelWork> works_of(const StageGraph& placed) {
  std::vector<KernelWork> all;
  for (const Operator* op : operators_of(placed)) all.push_back(lowered(*op, {}));
  return all;
}

}  // namespace

KernelCost Rank::cost(const Operator& op, const BatchShape& batch, std::int64_t layer) const {
  if (!batch.ranks.empty() && follows_contexts(op)) {
    std::vector<KernelCost> all;
    for (const BatchShape& each : batch.ranks) all.push_back(cost(op, each, layer));
    return slowest_of(all);
  }
  const KernelWork work = lowered(op, batch, layer);
  if (!is_collective(op)) {
    const bool matrix = op.as<Gemm>() || op.as<GroupedGemm>();
    const double left = matrix && batch.beside_another && batch.prefill_tokens > 0 ? multiprocessors_left : 1;
    return left < 1 ? on_share(on->cost(work, op.unit), left) : on->cost(work, op.unit);
  }
  const Communication& call = *op.as<Communication>();
  if (call.experts)
    return exchange_cost(work, *exchanges[static_cast<std::size_t>(call.experts->method)], on->spec());
  const bool of_stage = call.among == Communication::Among::stage;
  return collective_cost(work, of_stage ? *stage.collectives : *collectives, on->spec());
}

AffineKernelCost Rank::decode_attention(const Operator& op, const BatchShape& batch) const {
  if (batch.ranks.empty()) return on->decode_attention(lowered(op, batch), op.unit);
  std::vector<AffineKernelCost> all(batch.ranks.size());
  for (std::size_t r = 0; r < all.size(); ++r)
    if (batch.ranks[r].decodes > 0) all[r] = on->decode_attention(lowered(op, batch.ranks[r]), op.unit);
  return slowest_of(all);
}

KernelCost Rank::cost(const Operator& op, const BatchShape& batch, std::int64_t layer,
                      std::span<Seconds> members) const {
  if (members.size() > 1) return on->cost_by_member(lowered(op, batch, layer), op.unit, members);
  const KernelCost alone = cost(op, batch, layer);
  members[0] = alone.time;
  return alone;
}

const Memory* Rank::host_memory() const {
  const Memory& last = on->spec().memories.back();
  return last.of_host ? &last : nullptr;
}

std::string Rank::cannot_run(const StageGraph& placed) const {
  const std::string why = on->cannot_run(works_of(placed));
  return why.empty() && placed.of_decodes ? cannot_run(*placed.of_decodes) : why;
}

std::string Rank::stand_ins(const StageGraph& placed) const {
  return on->stand_ins(works_of(placed));
}

std::vector<std::string> Rank::analytic_layers(const StageGraph& placed) const {
  return on->analytic_layers(works_of(placed));
}

std::vector<int> kv_memories_of(const DeviceSpec& device, bool spare) {
  std::vector<int> found;
  for (std::size_t m = 0; m < device.memories.size(); ++m)
    if (device.memories[m].kept_for == Memory::KeptFor::kv_caches) found.push_back(static_cast<int>(m));
  if (found.empty() || spare) found.push_back(own_memory);
  return found;
}

StageGraph partitioned(StageGraph stage, const Rank& rank) {
  const DeviceSpec& device = rank.on->spec();
  std::erase_if(stage.parts, [&](const Part& part) {
    return std::ranges::find(device.untimed_parts, part.name) != device.untimed_parts.end();
  });
  std::vector<int> members;
  for (const Unit& unit : device.units) members.push_back(unit.members);
  const auto spread = [&](StageGraph placed) {
    return spread_over_members(std::move(placed), members, member_channels(rank));
  };
  StageGraph placed = rank.partitioning->place(std::move(stage), device.units);
  if (placed.of_decodes) placed.of_decodes = std::make_shared<const StageGraph>(spread(*placed.of_decodes));
  return spread(std::move(placed));
}

StageGraph with_prefetches(StageGraph partitioned, const Rank& rank) {
  return rank.prefetch->add_prefetches(std::move(partitioned), rank.on->spec().units);
}

StageGraph placed(StageGraph stage, const Rank& rank) {
  return with_prefetches(partitioned(std::move(stage), rank), rank);
}

}  // namespace weir
