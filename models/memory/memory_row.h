#pragma once
// A memory as a user gives it: a name of the catalog, the path of a file like the catalog's, or keys over a
// `base` (sim/core/catalog_row.h). The readers of devices and commands ask here; the bank models see a
// MemorySpec alone.
#include "models/memory/memory_spec.h"
#include "sim/core/catalog_row.h"

namespace weir {

const RowFamily& memory_rows();
Json memory_row_schema();  // of a key that holds one

// A whole row; its problems go to the reading of `params`. memory_catalog.cpp reads the catalog's with it.
MemorySpec read_memory_row(Params params, const std::string& name);
inline constexpr std::int64_t most_memory_banks = 1024;

// The memory of a name of the catalog, or of a whole row that memory_rows() found right.
MemorySpec memory_of(const Json& name_or_row);

// The memory that a command line names by name or path. Throws ConfigError.
MemorySpec read_memory(const std::string& name_or_path);

// The share of its peak that 4 MB of reads in order reach, with refresh: what a long stream gets.
double stream_efficiency(const MemorySpec& memory);

}  // namespace weir
