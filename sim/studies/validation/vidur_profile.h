#pragma once
// Vidur's own A100 kernel measurements (reference/kernels) as a profile that Weir's profiled device reads, so
// that a comparison with Vidur's runs leaves kernels out and shows how the two serve. Used by peers.cpp.
#include <filesystem>
#include <string>

namespace weir {

// Writes dense.csv, per_sequence.csv and attention.csv at tensor parallelism 2 for a model (by the name that
// Vidur gives it) of 32 query and 4 KV heads of 128 a rank. Throws ConfigError where a measurement is
// missing.
void write_vidur_profile(const std::filesystem::path& reference, const std::string& model,
                         const std::filesystem::path& folder);

}  // namespace weir
