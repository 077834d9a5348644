// The cost of runs of decode steps: as lines over the steps where there are any, else step by step.
#include <algorithm>
#include <cmath>

#include "sim/step/lines.h"
#include "sim/step/step_model.h"

namespace weir {
namespace {

// Whoever plays steps one by one decides anew after so many: an arrival then wastes few that were played.
constexpr std::int64_t most_played_steps = 32;
// So many are played at most to find the lines of a run; what is left of it comes with the next.
constexpr std::int64_t most_played_for_lines = 256;
constexpr std::int64_t shortest_line = 8;  // a shorter run is played in as many steps
// A batch of decodes, each of which grows by a token a step, and those of other ranks beside it.
class GrowingBatch {
 public:
  explicit GrowingBatch(const BatchShape& batch)
      : now_(batch),
        contexts_(batch.contexts.begin(), batch.contexts.end()),
        ranks_(batch.ranks.begin(), batch.ranks.end()) {}
  GrowingBatch(const GrowingBatch&) = delete;
  GrowingBatch(GrowingBatch&&) = default;

  // Valid until the next call.
  const BatchShape& after(std::int64_t steps) {
    const std::int64_t more = steps - grown_;
    grow(now_, more);
    for (DecodeContext& context : contexts_) context.tokens += more;
    for (BatchShape& rank : ranks_) grow(rank, more);
    now_.contexts = contexts_;
    now_.ranks = ranks_;
    grown_ = steps;
    return now_;
  }

 private:
  static void grow(BatchShape& batch, std::int64_t steps) {
    batch.decode_context_sum += steps * batch.decodes;
    if (batch.decodes > 0) batch.decode_context_max += steps;
  }

  BatchShape now_;
  std::vector<DecodeContext> contexts_;
  std::vector<BatchShape> ranks_;
  std::int64_t grown_ = 0;
};

class GrowingWork {
 public:
  explicit GrowingWork(const StepWork& work) : whole_(work.whole), whole_if_faster_(work.whole_if_faster) {
    for (const BatchShape& half : work.sub_batches) halves_.emplace_back(half);
  }

  // Valid until the next call.
  StepWork after(std::int64_t steps) {
    shapes_.clear();
    for (GrowingBatch& half : halves_) shapes_.push_back(half.after(steps));
    return {whole_.after(steps), shapes_, whole_if_faster_};
  }

 private:
  GrowingBatch whole_;
  std::vector<GrowingBatch> halves_;
  std::vector<BatchShape> shapes_;
  bool whole_if_faster_;
};

// Steps take no less than `floor`; the run ends where they begin to take longer, or no longer do.
StepRun no_sooner(StepRun run, Seconds floor) {
  const Seconds late = floor - run.first.time, slope = run.slope.time;
  const double until = slope == Seconds(0) ? 0 : std::ceil(late / slope);
  if (until > 0 && until < static_cast<double>(run.steps)) run.steps = static_cast<std::int64_t>(until);
  if (late < Seconds(0) || (late == Seconds(0) && slope >= Seconds(0))) return run;
  run.first.wait_for_host(late);
  run.slope.wait_for_host(-1. * slope);
  return run;
}

}  // namespace

std::int64_t StepModel::decode_run(const StepWork& work, std::int64_t steps,
                                   std::vector<StepRun>& runs) const {
  if (work.whole.side) return play_run(work, 1, runs);
  if (!work.later.empty()) return unlike_run(work, steps, runs);
  if (!serial_ || !work.sub_batches.empty()) {
    std::int64_t lines = steps_of_lines(work.whole, steps);
    for (const BatchShape& half : work.sub_batches) lines = steps_of_lines(half, lines);
    if (lines < shortest_line) return play_run(work, std::min(steps, most_played_steps), runs);
    GrowingWork growing(work);
    return append_lines([&](std::int64_t step) { return played(growing.after(step), true); }, lines,
                        most_played_for_lines, runs);
  }
  GrowingBatch growing(work.whole);
  for (std::int64_t done = 0; done < steps; done += runs.back().steps)
    runs.push_back(affine_run(growing.after(done), steps - done));
  return steps;
}

// Operators that do not follow contexts are the same in each step.
std::int64_t StepModel::steps_of_lines(const BatchShape& batch, std::int64_t steps) const {
  for (const Placed& placed : attention_ops_) {
    if (is_of_prompts(placed.op)) continue;
    steps =
        std::min(steps, batch.ranks.empty() ? device_->line_steps(lowered(placed.op, batch), placed.op.unit)
                                            : rank_.decode_attention(placed.op, batch).steps);
  }
  return steps;
}

std::int64_t StepModel::play_run(const StepWork& work, std::int64_t steps, std::vector<StepRun>& runs) const {
  GrowingWork growing(work);
  for (std::int64_t step = 0; step < steps; ++step)
    runs.push_back({played(growing.after(step), false).cost, {}, 1});
  return steps;
}

// Decodes grow by as many tokens as were accepted.
std::int64_t StepModel::unlike_run(const StepWork& work, std::int64_t steps,
                                   std::vector<StepRun>& runs) const {
  BatchShape shape = work.whole;
  const auto covered = std::min(steps, 1 + static_cast<std::int64_t>(work.later.size()));
  for (std::int64_t step = 0; step < covered; ++step) {
    if (step > 0) {
      const DecodeContexts& contexts = work.later[static_cast<std::size_t>(step - 1)];
      shape.decode_context_sum = contexts.sum;
      shape.decode_context_max = contexts.max;
    }
    runs.push_back({this->step({shape}), {}, 1});
  }
  return covered;
}

StepRun StepModel::affine_run(const BatchShape& batch, std::int64_t steps) const {
  StepRun run{.first = without_attention(batch), .slope = {}, .steps = steps};
  for (const Placed& placed : attention_ops_) {
    if (is_of_prompts(placed.op)) continue;
    const AffineKernelCost attention = rank_.decode_attention(placed.op, batch);
    run.first += attributed(attention.first, placed.op, placed.times);
    // The slope follows the first step's bound, so that time stays the sum of its parts.
    KernelCost slope = attention.slope;
    slope.compute = attention.first.compute;
    slope.traffic = attention.first.traffic;
    run.slope += attributed(slope, placed.op, placed.times);
    run.steps = std::min(run.steps, attention.steps);
  }
  if (const Seconds floor = engine_.floor(batch, launches_); floor > Seconds(0))
    run = no_sooner(run, floor + host_time(batch));
  return limit_.kept(run);
}

}  // namespace weir
