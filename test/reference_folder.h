#pragma once
// The folder of measurements that WEIR_REFERENCE names, or "" where there is none: the test then skips, with
// a message.
#include <cstdlib>
#include <filesystem>

namespace weir::test {

inline std::filesystem::path reference_folder() {
  const char* folder = std::getenv("WEIR_REFERENCE");
  const std::filesystem::path path = folder ? folder : "";
  return !path.empty() && std::filesystem::is_directory(path / "kernels") ? path : std::filesystem::path();
}

}  // namespace weir::test
