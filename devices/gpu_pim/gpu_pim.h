#pragma once
// A GPU with PIM in its own memory that attends to decodes (AttAcc, ASPLOS 2024; NeuPIMs' dual row buffers):
// requests are spread evenly over all of its channels, the best that a mapping could do. The unit it adds:
// pim.
#include "devices/device.h"
#include "models/memory/pim/pim_costs.h"

namespace weir {

struct GpuPimShape {
  BytesPerSecond peak;  // of all banks
  std::shared_ptr<PimCosts>
      banks;  // of a channel; null: the peak is reached, and reads beside it lose nothing
};

std::shared_ptr<const Device> with_hbm_pim(std::shared_ptr<const Device> gpu, GpuPimShape pim);

}  // namespace weir
