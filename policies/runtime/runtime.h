#pragma once
// A runtime says who runs the operators of a training step: the CPU, a GPU, or a memory that computes. Called
// by whoever plays training steps: for the candidates once a run, for the places once an operator, and for
// the choice whenever an operator that has several places becomes ready. Pure: functions of what they are
// given. The graph keeps the dependencies, the machine knows the times; no policy adds them up.
#include <span>
#include <vector>

#include "models/nn/tensor_operation.h"
#include "policies/runtime/places.h"
#include "policies/runtime/step_profile.h"
#include "sim/core/catalog.h"

namespace weir {

// A machine must have these beside its CPU.
struct RuntimeUnits {
  bool gpu = false, programmable = false, fixed_function = false;
  bool operator==(const RuntimeUnits&) const = default;
};

class RuntimePolicy {
 public:
  virtual ~RuntimePolicy() = default;
  virtual RuntimeUnits needs() const = 0;

  // The first step runs on the CPU, operators one by one, and its profile says whom to offer to the memory.
  virtual bool profiles() const { return false; }
  // Asked of those that profile alone.
  virtual std::vector<OperatorType> candidates(const StepProfile&) const { return {}; }

  // Where the operator may run, the preferred place first; at least one. `candidate`: its type is one.
  virtual std::vector<OperatorPlace> places(const TensorOperation& operation, bool candidate) const = 0;
  // The rest of a split operator is done here.
  virtual OperatorPlace rest_of_split() const { return OperatorPlace::cpu; }
  // The index of one of its places, at least one, which come in the order of places().
  virtual int choose(const RuntimeSnapshot&, std::span<const PlaceOption>) const { return 0; }

  // Cores in the memory call its pairs: the host starts and awaits an operator once. Else the host starts and
  // awaits every kernel on the pairs.
  virtual bool recursive_kernels() const { return false; }
  // Operators of the next step start on idle pairs, and running ones take over pairs that come free. Else
  // operators have the pairs one at a time, whole windows throughout.
  virtual bool operation_pipeline() const { return false; }
};

const Catalog<RuntimePolicy>& runtime_policies();

}  // namespace weir
