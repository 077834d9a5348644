#pragma once
// A replica without a cluster, random batches for it, and their steps played operator by operator by the
// timeline: the step model's oracle.
#include <catch2/catch.hpp>
#include <random>

#include "sim/step/step_model.h"

namespace weir::test {

Rank replica_on(const std::string& kind, const std::string& interconnect, const std::string& library);
// What the replica's policies make of a stage.
StageGraph place(const Rank& replica, StageGraph stage);
// Attention and MLP side by side, each with an all-reduce of its own, which the other can compute beside; or
// serial: one after the other.
StageGraph two_branches(const StageGraph& stage, bool serial);

struct RandomBatch {
  std::vector<PrefillChunk> chunks;
  BatchShape shape;
  explicit RandomBatch(std::mt19937_64& random);
};

// A step added up from the operators that the timeline ran, layer by layer.
struct Played {
  StepResult result;
  KernelCost sum;
};
Played play(const Rank& replica, const StageGraph& placed, const BatchShape& batch, bool fold);

template <class Quantity>
void check_near(Quantity a, Quantity b) {
  CHECK(a.value() == Approx(b.value()).epsilon(1e-9).margin(0));
}

void check_same(const StepCost& summed, const Played& played, Seconds host);

}  // namespace weir::test
