#include "sim/step/rank.h"

#include "models/llm/parts/spread.h"

namespace weir {
namespace {

MemberChannels member_channels(const Rank& rank) {
  if (!rank.placement->spreads_layers()) return MemberChannels::own;
  return rank.kv_memory().evenly_filled ? MemberChannels::even : MemberChannels::rotating;
}

}  // namespace

StageGraph partitioned(StageGraph stage, const Rank& rank) {
  const DeviceSpec& device = rank.on->spec();
  if (device.without_lm_head)
    std::erase_if(stage.parts, [](const Part& part) { return part.name == "epilogue"; });
  std::vector<int> members;
  for (const Unit& unit : device.units) members.push_back(unit.members);
  return spread_over_members(rank.partitioning->place(std::move(stage), device.units), members,
                             member_channels(rank));
}

StageGraph with_prefetches(StageGraph partitioned, const Rank& rank) {
  return rank.prefetch->add_prefetches(std::move(partitioned), rank.on->spec().units);
}

StageGraph placed(StageGraph stage, const Rank& rank) {
  return with_prefetches(partitioned(std::move(stage), rank), rank);
}

}  // namespace weir
