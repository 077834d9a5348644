#pragma once
#include <span>
#include <string>

#include "devices/device.h"

namespace weir {

// Device::cannot_run, of a device that runs whole operators of training steps and nothing else.
std::string only_trains(const DeviceSpec& device, std::span<const KernelWork> all);

}  // namespace weir
