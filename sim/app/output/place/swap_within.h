#pragma once
// Replaces what a directory holds while the directory stays the same one, for a place that somebody stands in
// (--out .), that is a mount point, or on a file system that cannot exchange two directories. Not one step,
// but old and new are never side by side: the old results leave first, what makes them results
// (summary.json, say) before the rest, and the new one's comes last. A process killed in between leaves the
// rest in folders .weir-*, and finish_swap() does it.
#include <filesystem>

namespace weir {

// `made` lies on the directory's file system and is whole.
void swap_within(const std::filesystem::path& made, const std::filesystem::path& directory);
// For whoever has locked the place, before it reads what is there.
void finish_swap(const std::filesystem::path& directory);

bool is_half_swapped(const std::filesystem::path& directory);

// Is it one of the names that Weir uses in a result directory beside results: a swap's, a lock's?
bool is_internal(const std::filesystem::path& name);
constexpr const char* staging_within = ".weir-partial";

}  // namespace weir
