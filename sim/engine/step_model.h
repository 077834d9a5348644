#pragma once
// What one iteration costs one pipeline stage: kernel times of the stage's operators, one decoder block
// counted `layers` times, plus the host's share. Serial, uncontended stages take the closed form, a sum;
// operators that depend on the number of rows alone are asked of the device once per row count and
// remembered.
#include <memory>
#include <vector>

#include "sim/engine/scenario.h"

namespace weir {

struct StepCost {
  Seconds time{};  // the four below, added up
  Seconds compute_bound{}, memory_bound{}, link_bound{}, host_bound{};
  Flops flops{};  // of one rank, like the bytes
  Bytes memory{}, link{};
  Joules energy{};  // of one rank, above idle

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

class StepModel {
 public:
  StepModel(std::shared_ptr<const Device> device, StageGraph stage,
            std::shared_ptr<const CollectiveModel> links, EngineOverhead engine, bool collectives_elsewhere);

  StepCost step(const BatchShape& batch) const;
  // Appends to `runs` what covers `steps` iterations of a batch of decodes; each segment is exactly affine.
  void decode_run(const BatchShape& batch, std::int64_t steps, std::vector<StepRun>& runs) const;

  struct CollectiveCall {  // for `"collectives": "flows"`
    Collective op;
    Bytes bytes;
    std::int64_t times;
  };
  std::vector<CollectiveCall> collectives(const BatchShape& batch) const;
  const Device& device() const { return *device_; }

 private:
  struct Repeated {
    Operator op;
    double times;
  };
  StepCost cost_of(const Repeated& repeated, const BatchShape& batch) const;
  const StepCost& by_rows(std::vector<StepCost>& memo, const std::vector<Repeated>& ops, std::int64_t rows,
                          const BatchShape& batch) const;
  StepCost without_attention(const BatchShape& batch) const;

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const CollectiveModel> links_;
  EngineOverhead engine_;
  bool collectives_elsewhere_;
  std::vector<Repeated> token_ops_, sequence_ops_, attention_ops_, collective_ops_;
  mutable std::vector<StepCost> token_memo_, sequence_memo_;  // index: rows; time < 0: not asked yet
};

}  // namespace weir
