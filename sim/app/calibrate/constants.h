#pragma once
// The constants that weir calibrate may change: host times of the engine, and how much of the device its
// kernels reach. An explicit table: a row is a key of calibration.json (sim/plan/calibration.h).
#include <vector>

#include "sim/plan/plan.h"

namespace weir {

struct ServerConstant {
  const char *key, *what;
  double usual;  // a change that is no surprise before anything was measured; one that makes times longer
  double least, most;
  double (*of)(const ReplicaSpec& replica);  // as it is without a calibration
};

// In the order in which measurements are asked for them: one behind another is told only by what that one
// leaves unexplained.
const std::vector<ServerConstant>& server_constants();

using ConstantValues = std::vector<double>;  // by constant

// The constants named, as engine.calibration has them.
inline constexpr const char* calibration_format = "weir-calibration-1";
Json calibration_json(const ReplicaSpec& replica, const std::string& device, const ConstantValues& values,
                      const std::vector<bool>& named);

}  // namespace weir
