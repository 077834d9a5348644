#pragma once
// Runs gnuplot scripts, and says early if it cannot.
#include <filesystem>

namespace weir {

void require_gnuplot();  // throws if it is not on PATH, so that nobody simulates for an hour first
void run_gnuplot(
    const std::filesystem::path& script);  // in the script's own directory; throws unless it succeeds

}  // namespace weir
