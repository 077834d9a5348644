#pragma once
// Configurations of DRAMsim3 (.ini), as memories of `weir memory`: one channel of them.
#include <filesystem>

#include "models/memory/memory_spec.h"

namespace weir {

bool is_dramsim3(const std::filesystem::path& file);
MemorySpec read_dramsim3(const std::filesystem::path& file);  // throws ConfigError

}  // namespace weir
