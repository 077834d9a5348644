#pragma once
// What one iteration costs one pipeline stage: the kernels of its placed operators, plus the host's share.
// Where only one operator ever runs at a time (StepGraph::serial: all GPU stages today) the time is a sum;
// operators that depend on the number of rows alone are then asked of the device once per row count and
// remembered. Where operators overlap, the step timeline plays them. The stage's actor asks, every step.
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/engine/scenario.h"
#include "sim/engine/timeline/stage_step.h"

namespace weir {

struct StepCost {
  static constexpr std::size_t most_units = 8;

  Seconds time{};  // the four below, added up
  // Of the kernels' time; scaled to what the step takes where kernels overlap.
  Seconds compute_bound{}, memory_bound{}, link_bound{}, host_bound{};
  Flops flops{};  // of one rank, like the bytes
  Bytes memory{}, link{};
  Joules energy{};                         // of one rank, above idle
  std::array<Seconds, most_units> busy{};  // by unit of the device

  StepCost& operator+=(const StepCost& other);
  friend StepCost operator*(double k, const StepCost& cost);
};

// Steps in which every request decodes one token: step i costs first + i * slope.
struct StepRun {
  StepCost first{}, slope{};
  std::int64_t steps = 0;

  Seconds time(std::int64_t steps) const;  // of the first so many
  StepCost total(std::int64_t steps) const;
};

// A stage of the replica's model as its partitioning and prefetch policies place it. Throws
// std::invalid_argument where the device lacks a unit that they need.
StageGraph placed_stage(const Scenario& scenario, const ReplicaSpec& replica, int stage);

class StepModel {
 public:
  // `collectives_elsewhere`: they take no time here, because they are played as flows. Throws
  // std::invalid_argument if other operators overlap with them: flows come after the kernels.
  StepModel(const ReplicaSpec& replica, const StageGraph& placed, bool collectives_elsewhere);

  StepCost step(const BatchShape& batch) const;
  // Appends to `runs` what the next iterations of a batch of decodes cost, in exactly affine segments, and
  // returns how many it covered: all of `steps`, or fewer where each must be played.
  std::int64_t decode_run(const BatchShape& batch, std::int64_t steps, std::vector<StepRun>& runs) const;

  struct CollectiveCall {  // for `"collectives": "flows"`
    Collective op;
    Bytes bytes;
    std::int64_t times;
    std::size_t unit;
  };
  std::vector<CollectiveCall> collectives(const BatchShape& batch) const;

  struct OperatorSpan {
    std::string_view name;  // as long as the model lives
    int unit;
    Seconds start, finish;  // from the start of the step, in which the host comes first
  };
  std::vector<OperatorSpan> operators(const BatchShape& batch) const;

  bool serial() const { return serial_; }
  const Device& device() const { return *device_; }

 private:
  struct Placed {
    Operator op;
    int index;     // in graph_
    double times;  // a step
  };
  using PlacedOps = std::vector<Placed>;
  KernelCost kernel(const Operator& op, const BatchShape& batch) const;
  const StepCost& by_rows(std::vector<StepCost>& memo, const PlacedOps& ops, std::int64_t rows,
                          const BatchShape& batch) const;
  StepCost without_attention(const BatchShape& batch) const;
  Seconds host_time(const BatchShape& batch) const;
  StepRun affine_run(const BatchShape& batch, std::int64_t steps) const;
  StepCost fill_timeline(const BatchShape& batch) const;  // returns the sum of what it fills in
  StepCost played(const BatchShape& batch) const;

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const CollectiveModel> links_;
  EngineOverhead engine_;
  bool collectives_elsewhere_;
  StepGraph graph_;
  mutable Timeline timeline_;  // refuses what cannot run
  bool serial_;
  PlacedOps token_ops_, sequence_ops_, attention_ops_;        // collectives among the first two
  mutable std::vector<StepCost> token_memo_, sequence_memo_;  // index: rows; time < 0: not asked yet
};

}  // namespace weir
