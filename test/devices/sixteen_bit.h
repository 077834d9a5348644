#pragma once
#include "devices/device.h"

namespace weir::test {

// The 16-bit type that the device calculates in: older ones have no bf16.
inline DataType sixteen_bit(const Device& device) {
  return device.spec().peak(DataType::bf16) > FlopsPerSecond(0) ? DataType::bf16 : DataType::fp16;
}

}  // namespace weir::test
