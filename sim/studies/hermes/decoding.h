#pragma once
// A run's decodes without its serving: the same operators and neurons, token by token, on the step timeline
// alone. For what a summary has not: the time of some operators, or which of them run when.
#include <functional>
#include <memory>

#include "sim/plan/neurons/neuron_plan.h"
#include "sim/plan/plan.h"
#include "sim/serving/neurons/neuron_starts.h"
#include "sim/step/played_step.h"
#include "sim/studies/hermes/runs.h"

namespace weir::hermes {

std::shared_ptr<const NeuronPlan> neurons_of(const HermesRun& run, const std::string& assumptions);

class Decoding {
 public:
  Decoding(const HermesRun& run, const std::string& assumptions);
  Decoding(const Decoding&) = delete;
  Decoding& operator=(const Decoding&) = delete;

  const Rank& rank() const { return plan_.replicas[0].rank; }
  const StageGraph& operators() const { return *plan_.replicas[0].stages[0].of_decodes; }
  const NeuronPlan& neurons() const { return *plan_.replicas[0].neurons; }

  // Calls back with each step's batch, the first of which the prompt's step has generated a token for.
  void each_token(const std::function<void(const BatchShape&)>& action);

  // The operators alone for which `keep` holds; the others take no time, and nobody waits for them.
  using Keep = std::function<bool(const OperatorGraph&, std::size_t vertex)>;
  StageGraph only(const Keep& keep) const;

 private:
  Plan plan_;
  int batch_;
  NeuronTotals totals_ = {};
  std::unique_ptr<NeuronTables> tables_;
};

}  // namespace weir::hermes
