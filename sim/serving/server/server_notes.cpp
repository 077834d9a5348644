// What the recorder hears of a server's steps: busy devices, bytes of collectives, boxes on tracks.
#include "sim/serving/server/server.h"
#include "sim/serving/server/stages.h"

namespace weir {

void Server::note(std::size_t stage, const Iteration& iteration, Seconds start, Seconds end,
                  const StepCost& cost, std::int64_t steps) {
  recorder_.busy(stages_[stage].device, start, end, cost);
  if (const auto& collectives = stages_[stage].collectives)
    collectives->carried(iteration.shape, cost, start, end);
  if (cluster_.shared && !stages_[stage].links.empty())
    cluster_.traffic->carried(step_flows(stages_[stage], cost), start, end);
  if (const auto imbalance = stages_[stage].model->expert_imbalance(iteration.shape)) {
    ExpertCounts& counts = recorder_.result().experts;
    counts.imbalance += *imbalance * static_cast<double>(steps);
    counts.steps += static_cast<double>(steps);
  }
  if (!recorder_.wants_spans()) return;
  const char* kind = iteration.shape.prefill_tokens == 0 ? "decode"
                     : iteration.shape.decodes == 0      ? "prefill"
                                                         : "mixed";
  recorder_.span({.track = stages_[stage].track,
                  .start = start,
                  .duration = end - start,
                  .name = kind,
                  .requests = static_cast<std::int64_t>(iteration.members.size()),
                  .tokens = iteration.shape.tokens(),
                  .steps = steps});
  if (stage == 0)
    for (const auto& member : iteration.members) recorder_.arrow(member.request, stages_[0].track, start);
  if (!stages_[stage].unit_tracks.empty() && drawn_[stage].insert(kind).second)
    draw_operators(stage, iteration, start);
}

// Only the first step of each kind is drawn: all of them would be a thousand boxes a step.
void Server::draw_operators(std::size_t stage, const Iteration& iteration, Seconds start) {
  for (const auto& op : stages_[stage].model->operators(iteration.work()))
    recorder_.span({.track = stages_[stage].unit_tracks[static_cast<std::size_t>(op.unit)],
                    .start = start + op.start,
                    .duration = op.finish - op.start,
                    .name = std::string(op.name),
                    .requests = static_cast<std::int64_t>(iteration.members.size()),
                    .tokens = iteration.shape.tokens(),
                    .category = "operator"});
}

}  // namespace weir
