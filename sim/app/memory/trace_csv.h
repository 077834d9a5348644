#pragma once
// The CSV files of `weir memory`: requests in (columns arrival,op,addr_hex by name, others ignored), the same
// with their times out.
#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "models/memory/dram/channel.h"

namespace weir {

// Everything that is wrong is collected by line; throws ConfigError. Addresses are of the memory's one
// channel.
std::vector<MemoryRequest> read_memory_trace(const std::filesystem::path& file, const MemorySpec& memory);

// Rows arrival,op,addr_hex,accept,complete,data_end.
void append_row(fmt::memory_buffer& buffer, const MemoryRequest& request, const ServedRequest& served);
inline constexpr std::string_view served_header = "arrival,op,addr_hex,accept,complete,data_end\n";

}  // namespace weir
