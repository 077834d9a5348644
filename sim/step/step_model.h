#pragma once
// A step model prices one iteration of one pipeline stage: the kernels of its placed operators, plus the
// host's share. Where only one operator ever runs at a time (StepGraph::serial: all GPU stages today) the
// time is a sum; operators that depend on the number of rows alone are then asked of the device once per row
// count and remembered. Where operators overlap, the step timeline plays them. The stage's actor asks, every
// step.
#include <array>
#include <memory>
#include <vector>

#include "sim/step/cost/power_limit.h"
#include "sim/step/played_step.h"

namespace weir {

// A batch as the policy decided: whole, or as two sub-batches whose operators are independent chains.
struct StepWork {
  const BatchShape& whole;
  std::span<const BatchShape> sub_batches = {};  // two, or none
  bool whole_if_faster = false;                  // whichever way the step is shorter
  // The contexts that decodes of `whole` attend to in the steps after this one; empty: a token more in each.
  std::span<const DecodeContexts> later = {};
};

class StepModel {
 public:
  // `collectives_elsewhere`: they take no time here, because they are played as flows. Throws
  // std::invalid_argument if other operators overlap with them: flows come after the kernels.
  StepModel(const Rank& rank, const StageGraph& placed, bool collectives_elsewhere);

  StepCost step(const StepWork& work) const;
  // Appends to `runs` what the next iterations of a batch of decodes cost, in exactly affine segments, and
  // returns how many it covered: all of `steps`, or fewer where each must be played.
  std::int64_t decode_run(const StepWork& work, std::int64_t steps, std::vector<StepRun>& runs) const;

  struct CollectiveCall {  // for `"collectives": "flows"`
    Communication of;
    Bytes bytes;
    std::int64_t times;
    std::size_t unit;
  };
  std::vector<CollectiveCall> collectives(const BatchShape& batch) const;

  std::vector<OperatorSpan> operators(const StepWork& work) const;

  // Tokens of the fullest rank that holds experts over their mean; none: the stage has no experts.
  std::optional<double> expert_imbalance(const BatchShape& batch) const;

  bool serial() const { return serial_; }
  bool prefetches() const { return !placed_.windows.empty(); }
  const Device& device() const { return *device_; }

 private:
  struct Placed {
    Operator op;
    double times;  // a step
  };
  using PlacedOps = std::vector<Placed>;
  KernelCost kernel(const Operator& op, const BatchShape& batch) const;
  struct ByRows {  // operators that cost the same for the same number of rows
    PlacedOps ops = {};
    mutable std::vector<StepCost> memo = {};  // index: rows; time < 0: not asked yet
  };
  const StepCost& by_rows(Rows rows, const BatchShape& batch) const;
  const ByRows& of(Rows rows) const { return by_rows_[static_cast<std::size_t>(rows)]; }
  StepCost without_attention(const BatchShape& batch) const;
  Seconds host_time(const BatchShape& batch) const;
  PlayedCost no_sooner_than_host(PlayedCost played, const BatchShape& batch, double chains) const;
  StepRun affine_run(const BatchShape& batch, std::int64_t steps) const;
  PlayedCost played(const StepWork& work, bool causes) const;
  PlayedCost played_at_full_clocks(const StepWork& work, bool causes) const;
  std::int64_t unlike_run(const StepWork& work, std::int64_t steps, std::vector<StepRun>& runs) const;
  std::int64_t play_run(const StepWork& work, std::int64_t steps, std::vector<StepRun>& runs) const;
  std::int64_t steps_of_lines(const BatchShape& batch, std::int64_t steps) const;
  bool differs_without_prompts() const;
  StageGraph of_decodes() const;
  PlayedStep& whole(const StepWork& work) const;
  PlayedStep& interleaved(const StepWork& work) const;

  const Rank rank_;
  const StageGraph placed_;
  std::shared_ptr<const Device> device_;
  EngineOverhead engine_;
  PowerLimit limit_;
  bool collectives_elsewhere_;
  double launches_ = 0;              // of a step
  std::optional<Operator> experts_;  // the first that is of some
  StepCost small_kernels_;
  struct Played {  // one batch, and two side by side: made when the first of them come
    std::unique_ptr<PlayedStep> whole, interleaved;
  };
  mutable Played with_prompts_;
  mutable Played decodes_;  // alone, where that leaves something out
  bool serial_;
  std::array<ByRows, row_kinds> by_rows_;  // collectives among those of tokens, sequences and drafts
  PlacedOps attention_ops_;
  mutable StepCost forgotten_;  // the last that had too many rows to be remembered
};

}  // namespace weir
