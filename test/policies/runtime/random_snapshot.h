#pragma once
// Random operations and snapshots for the tests of runtimes, which are held to laws over them.
#include "models/nn/operator_type.h"
#include "policies/runtime/runtime.h"
#include "test/policies/dice.h"

namespace weir::test {

inline std::shared_ptr<const RuntimePolicy> make_runtime(const Json& json) {
  Reading reading("test");
  auto runtime = make_from(runtime_policies(), Params(reading, json), {"kind", "which"});
  reading.finish();
  return runtime;
}

// Backlogs are often nothing, and pairs are often just enough.
inline RuntimeSnapshot random_snapshot(Dice& dice) {
  const auto backlog = [&] { return Seconds(dice(0, 1) ? 0 : 0.5 * static_cast<double>(dice(1, 20))); };
  return {backlog(),
          backlog(),
          backlog(),
          Seconds(0.5 * static_cast<double>(dice(1, 20))),
          static_cast<double>(dice(0, 20)),
          static_cast<int>(dice(0, 2) / 2)};
}

// The arithmetic of some type of operator, often with patches.
inline TensorOperation random_operation(Dice& dice) {
  const auto type = static_cast<OperatorType>(dice(0, operator_types - 1));
  TensorOperation operation{.work = static_cast<double>(dice(1, 100)) * unit_work(type).work};
  operation.patches.elements = static_cast<double>(dice(0, 1) * dice(0, 30));
  return operation;
}

// One a place that the policy has for the operator, of random lengths.
inline std::vector<PlaceOption> options_for(Dice& dice, const RuntimePolicy& runtime,
                                            const TensorOperation& operation, bool candidate) {
  std::vector<PlaceOption> options;
  for (const OperatorPlace place : runtime.places(operation, candidate))
    options.push_back({place, Seconds(0.5 * static_cast<double>(dice(1, 20))),
                       static_cast<double>(dice(1, 20)), runtime.rest_of_split()});
  return options;
}

}  // namespace weir::test
