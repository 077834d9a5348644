#include "models/memory/dram/channel.h"

#include "models/memory/dram/controller.h"

namespace weir {

ChannelRun play(const MemorySpec& memory, std::span<const MemoryRequest> requests,
                const ChannelOptions& options) {
  ChannelController controller(memory, timing_constraints(memory), requests, options);
  controller.play();
  return controller.take_run();
}

}  // namespace weir
