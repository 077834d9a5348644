#pragma once
// The time of one step on its units (step_graph.h has the rules). The engine makes one Timeline a
// configuration, refills times and rates each step and evaluates; it owns all scratch memory and allocates
// nothing once warm. Plain deterministic C++ without SimGrid. Not thread-safe; two Timelines are independent.
//
// Layers are played until the state at the start of one repeats that of an earlier one, the repeated layers
// are skipped, and the last ones are played. Chains that drift apart, or layers declared unlike, never repeat
// and are played in full.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sim/step/timeline/step_graph.h"

namespace weir {

// A placement policy sees this. It must be a pure function of this: no clock and no layer number are in it,
// because layers that start alike must be placed alike. Work left carries rounding: what is equal but for
// 1e-9 is equal.
struct UnitState {
  // Work running and waiting, by member, at full speed; a pool: in amount-seconds. What waits and yields to
  // the operator that is placed is left out.
  std::vector<Seconds> left;
  double amount = 0;  // of a pool
  double free = 0;    // of a pool: held by nobody
  int waiting = 0;    // operators before the one that is placed
};
struct PlacementOption {
  int unit = 0;
  std::span<const int> members;
  std::span<const Seconds> times;
  std::span<const int> resources;
  std::span<const BytesPerSecond> rates;
  double least = 0, most = 0;
};
// Called when an operator with alternatives becomes ready; returns the index of one. Operators that became
// ready at the same moment and come first in order already wait in their units.
using PlacementPolicy =
    std::function<int(std::span<const UnitState> units, int op, std::span<const PlacementOption> options)>;
// The option whose members have worked off soonest what they run and what waits for them; the first of
// equals.
int earliest_free(std::span<const UnitState> units, int op, std::span<const PlacementOption> options);

struct OperatorRecord {
  int op = 0;
  std::int64_t layer = 0;
  int alternative = 0;
  Seconds ready, start, finish;
};

struct StepResult {
  Seconds total;
  std::vector<std::vector<Seconds>> busy;  // [unit][member] held; a pool: amount-seconds held
  std::vector<Bytes> bytes;                // [resource] moved
  // How often each alternative ran, operator by operator, layers that fold counted too; empty where no
  // operator has a choice.
  std::vector<std::int64_t> runs;
  std::int64_t skipped_layers = 0;  // by folding
  // A hash of what each operator waited for last and what slowed it. Where it is one for two fillings and
  // neither was slowed, all between the two on a line have it, and their times lie on a line; times of
  // operators that were slowed are on a curve.
  std::uint64_t causes = 0;
  bool slowed = false;  // somebody, by those beside it; like `causes` only where they are asked for
};

struct MarkedEnd {
  int op = 0;
  Seconds at;
};

struct EvaluateOptions {
  bool fold = true;                              // skip layers that repeat
  bool causes = true;                            // a quarter of the time goes into them
  std::vector<OperatorRecord>* trace = nullptr;  // filled in order of finish; plays every layer
  std::span<const int> marked = {};              // operators of parts that repeat:
  std::vector<MarkedEnd>* marks = nullptr;       // when they ended in each layer, those that fold too
};

class Timeline {
 public:
  // Throws std::invalid_argument with every problem of the graph.
  explicit Timeline(const StepGraph& graph, PlacementPolicy policy = earliest_free);
  ~Timeline();
  Timeline(Timeline&&) noexcept;
  Timeline& operator=(Timeline&&) noexcept;

  // The caller refills these, in the order of the alternative's portions and draws; `layer` counts only where
  // layers are unlike.
  std::span<Seconds> times(int op, int alternative = 0, std::int64_t layer = 0);
  std::span<BytesPerSecond> rates(int op, int alternative = 0, std::int64_t layer = 0);

  // Valid until the next call. Throws std::invalid_argument where a time or rate cannot be: negative, not
  // finite, or drawn from a resource of no capacity.
  const StepResult& evaluate(const EvaluateOptions& options = {});

 private:
  class Player;
  std::unique_ptr<Player> player_;
};

}  // namespace weir
