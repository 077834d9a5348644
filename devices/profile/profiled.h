#pragma once
// A device that reads measured kernel times instead of calculating them, from a folder in the layout of
// profile_bundle.h. Flops, bytes and energy stay those of the analytic device it stands on, and so do the
// links.
#include <filesystem>

#include "devices/device.h"

namespace weir {

// Reports every malformed row and missing file to `params` (key "profile") and returns null when it cannot.
std::shared_ptr<const Device> make_profiled(std::shared_ptr<const Device> analytic,
                                            const std::filesystem::path& folder, Params& params);

}  // namespace weir
