#include "sim/app/output/place/swap_within.h"

#include <algorithm>
#include <string>
#include <vector>

#include "sim/app/output/place/place_lock.h"
#include "sim/app/output/result_directory.h"

namespace weir {
namespace fs = std::filesystem;
namespace {

// The new results while the old ones leave; then, renamed, while they arrive themselves.
constexpr const char *whole = ".weir-whole", *arriving = ".weir-arriving", *replaced = ".weir-replaced";

std::vector<fs::path> names_in(const fs::path& directory) {
  std::vector<fs::path> names;
  for (const auto& entry : fs::directory_iterator(directory))
    if (!is_internal(entry.path().filename())) names.push_back(entry.path().filename());
  std::stable_partition(names.begin(), names.end(), makes_results);
  return names;
}

}  // namespace

bool is_internal(const fs::path& name) {
  return name == lock_within || name.string().starts_with(".weir-");
}

void swap_within(const fs::path& made, const fs::path& directory) {
  fs::rename(made, directory / whole);
  finish_swap(directory);
}

bool is_half_swapped(const fs::path& directory) {
  return fs::exists(directory / whole) || fs::exists(directory / arriving);
}

void finish_swap(const fs::path& directory) {
  if (fs::exists(directory / whole)) {
    fs::create_directory(directory / replaced);
    for (const fs::path& name : names_in(directory))
      fs::rename(directory / name, directory / replaced / name);
    fs::rename(directory / whole, directory / arriving);
  }
  if (fs::exists(directory / arriving)) {
    std::vector<fs::path> names = names_in(directory / arriving);
    std::ranges::reverse(names);
    for (const fs::path& name : names) fs::rename(directory / arriving / name, directory / name);
    fs::remove(directory / arriving);
  }
  fs::remove_all(directory / replaced);
}

}  // namespace weir
