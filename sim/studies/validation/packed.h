#pragma once
// Tables of measurements that lie compressed.
#include <filesystem>

#include "sim/app/results/csv.h"

namespace weir {

// Unpacks a gzip file to another place. Throws ConfigError if it cannot.
void unpack(const std::filesystem::path& packed, const std::filesystem::path& into);
// FOLDER/NAME if it is there, else FOLDER/NAME.gz, unpacked to SPARE/NAME.
Table read_packed(const std::filesystem::path& folder, const std::string& name,
                  const std::filesystem::path& spare);

}  // namespace weir
