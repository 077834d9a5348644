#pragma once
// The offline mappings of a run: alike replicas start from one. The simulation makes one of these; what it
// hands out does not outlive it.
#include <map>
#include <memory>

#include "sim/plan/neurons/neuron_plan.h"
#include "sim/plan/plan.h"
#include "sim/serving/neurons/neuron_tables.h"

namespace weir {

struct StartMapping {
  NeuronMapping mapping;
  Seconds took;  // wall time
};
StartMapping start_mapping(const NeuronPlan& plan);

class NeuronStarts {
 public:
  // A replica's own tables, which count into the result.
  std::unique_ptr<NeuronTables> tables_for(const ReplicaPlan& replica, RunResult& result);

 private:
  std::map<const ReplicaPlan*, StartMapping> mappings_;
};

}  // namespace weir
