// What the recorder hears of a server's steps: busy devices, bytes of collectives, boxes on tracks.
#include <algorithm>

#include "sim/serving/server/server.h"
#include "sim/serving/server/stages.h"

namespace weir {
namespace {

// Adds to the step that took so long. Sub-batches and ranks in lockstep share their steps otherwise.
Seconds without_prompts(const StepModel& model, const Iteration& iteration, Seconds took) {
  const BatchShape& whole = iteration.shape;
  if (whole.prefill_tokens == 0) return took;
  if (whole.decodes == 0) return Seconds(0);
  if (!iteration.ranks.empty() || !iteration.sub_batches.empty()) return Seconds(-1);
  BatchShape decodes = whole;
  decodes.prefill = {};
  decodes.prefill_tokens = 0;
  decodes.sequences = decodes.decodes;
  const Seconds all = model.step({whole}).time, alone = model.step({decodes}).time;
  return all > Seconds(0) ? std::min(1., alone / all) * took : Seconds(0);
}

}  // namespace

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
  if (std::ranges::any_of(replica_.all()[0]->listeners(), &ReplicaListener::hears_steps))
    tell(stage, iteration, start, end, cost, steps);
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

// Listeners of the first attention-data rank, as the ranks step together.
void Server::tell(std::size_t stage, const Iteration& iteration, Seconds start, Seconds end,
                  const StepCost& cost, std::int64_t steps) const {
  const bool runs = steps > 1;
  const Seconds first = runs ? run_.time(1) : end - start;
  const Seconds last = runs ? run_.time(steps) - run_.time(steps - 1) : first;
  StepTaken step{stage, stages_.size(), start, end, first, last, steps, cost, {}, 0, 0};
  step.without_prompts = without_prompts(*stages_[stage].model, iteration, end - start);
  for (const auto& rank : replica_.all()) {
    step.free_blocks += rank->cache().total() - rank->cache().used();
    step.held_blocks += rank->held_blocks();
  }
  for (ReplicaListener* listener : replica_.all()[0]->listeners())
    if (listener->hears_steps()) listener->stepped(iteration, step);
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
