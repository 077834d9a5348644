#pragma once
// The constants that `weir calibrate` fitted to a server: engine.calibration, a file of its or an object of
// the same keys. It stands where an engine's preset would; what a scenario gives beside it counts before
// both.
#include <memory>
#include <optional>
#include <string>

#include "devices/device.h"
#include "sim/core/params.h"

namespace weir {

struct Calibration {
  std::string engine, engine_version, device;  // that it was fitted on; "" of none
  std::optional<double> step_overhead_us, sequence_overhead_us, prompt_overhead_us, front_end_ms;
  KernelReach reach;  // of that device's kernels

  bool given() const { return !engine.empty(); }
};

// Null or absent: none. Problems are told at `engine`'s key calibration, those in a file with its name.
Calibration read_calibration(Params& engine);

// The device with kernels that reach so much; as it is where the calibration is not of it.
std::shared_ptr<const Device> calibrated(std::shared_ptr<const Device> device,
                                         const Calibration& calibration);
// Why it is as it is, where the calibration asks for more; "" if it does not.
std::string unused_reach(const Calibration& calibration, const Device& device);

}  // namespace weir
