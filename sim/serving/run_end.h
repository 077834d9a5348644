#pragma once
// When a run ends by itself: at the scenario's time limit, or as the first of the devices that serve is
// switched off.
#include <optional>
#include <vector>

#include "sim/serving/platform/cluster.h"
#include "sim/serving/record/results.h"

namespace weir {

struct RunEnd {
  std::optional<Seconds> at;
  std::optional<StoppedDevice> stopped;  // if it is a device that ends it
  std::vector<int> replicas;             // that this device serves
};

RunEnd end_of(const Plan& plan, const Cluster& cluster);

}  // namespace weir
