#include "sim/step/training/time_split.h"

#include <algorithm>
#include <vector>

namespace weir {
namespace {

// How much of everything happens at once.
struct Happening {
  double computing = 0, moving = 0, awaiting = 0;
};

struct Change {
  Seconds at;
  Happening by;
};

Happening happening(const TrainingPlan& plan, const OperatorRecord& record) {
  const auto& op = plan.graph.operators[static_cast<std::size_t>(record.op)];
  const int unit = op.alternatives[static_cast<std::size_t>(record.alternative)].unit;
  if (unit == plan.host) return {0, 0, 1};
  if (unit == plan.copy || unit == plan.network) return {0, 1, 0};
  const int vertex = plan.vertex_of[static_cast<std::size_t>(record.op)];
  if (unit != plan.cpu || vertex < 0) return {1, 0, 0};
  const auto& ways = plan.ways[static_cast<std::size_t>(vertex)];
  const double moving = ways[static_cast<std::size_t>(record.alternative)].moving;
  return {1 - moving, moving, 0};
}

Seconds end_of(const TrainingPlan& plan, std::span<const OperatorRecord> records, std::int64_t layer) {
  for (const OperatorRecord& record : records)
    if (record.op == plan.ends[0] && record.layer == layer) return record.finish;
  return Seconds(0);
}

}  // namespace

TimeSplit time_split(const TrainingPlan& plan, std::span<const OperatorRecord> records, std::int64_t layer) {
  const Seconds from = layer > 0 ? end_of(plan, records, layer - 1) : Seconds(0);
  const Seconds to = end_of(plan, records, layer);
  std::vector<Change> changes;
  for (const OperatorRecord& record : records) {
    const Seconds start = std::max(from, record.start), finish = std::min(to, record.finish);
    if (!(start < finish)) continue;
    const Happening by = happening(plan, record);
    changes.push_back({start, by});
    changes.push_back({finish, {-by.computing, -by.moving, -by.awaiting}});
  }
  std::ranges::sort(changes, {}, &Change::at);
  TimeSplit split;
  Happening now;
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    now.computing += changes[i].by.computing;
    now.moving += changes[i].by.moving;
    now.awaiting += changes[i].by.awaiting;
    const Seconds passed = changes[i + 1].at - changes[i].at;
    const double computing = std::clamp(now.computing, 0., 1.);
    const double moving = std::clamp(now.moving, 0., 1 - computing);
    split.operation += computing * passed;
    split.movement += moving * passed;
    if (computing + moving < 1e-9 && now.awaiting > 0.5) split.synchronisation += passed;
  }
  return split;
}

}  // namespace weir
