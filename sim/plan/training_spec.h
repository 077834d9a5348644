#pragma once
// The training jobs of a scenario: as they were typed, and on the devices of a node that they run on.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/latency/collectives_by_level.h"
#include "models/nn/net.h"
#include "models/nn/training_graph.h"
#include "policies/runtime/runtime.h"
#include "sim/plan/device_place.h"
#include "sim/step/training/training_step.h"

namespace weir {

struct BesideSpec {  // a net that is trained on what the job's own leaves
  Net net;
  std::int64_t batch = 1, steps = 1;
  std::shared_ptr<const RuntimePolicy> runtime;
};

struct TrainingSpec {  // an entry of `training`
  std::string name;
  Net net;
  std::int64_t batch = 1, steps = 1;
  std::optional<std::vector<std::string>> devices;  // kinds, one of each; none: what a node has
  int data_parallel = 1;                            // copies of the net, each on such devices
  std::shared_ptr<const RuntimePolicy> runtime;
  double clock_multiple = 1;  // of what computes in memory
  Watts host_waiting;         // TrainingMachine's
  std::optional<BesideSpec> beside;
};

struct TrainingJob {
  TrainingSpec spec;
  TrainingGraph graph = {};
  std::optional<TrainingGraph> beside = {};
  TrainingMachine machine = {};  // of a copy
  std::vector<std::vector<DevicePlace>> places =
      {};               // by copy: its devices, the one that sends gradients first
  LinkSpec links = {};  // between the copies
  std::optional<NodeLevels> levels = {};
  double dollars_per_hour = 0;  // of all copies' machines

  // The net's first steps, with as large a share of those of the net beside it.
  TrainingStep first_steps(std::int64_t count) const;
  TrainingStep all_steps() const { return first_steps(spec.steps); }
};

}  // namespace weir
