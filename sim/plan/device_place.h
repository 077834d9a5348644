#pragma once
// Where a device of the cluster is.
#include <vector>

namespace weir {

struct DevicePlace {
  int node = 0, slot = 0;  // nodes counted one by one, slots within a node
};
using ReplicaPlace = std::vector<std::vector<DevicePlace>>;  // [stage][tensor-parallel rank]

}  // namespace weir
