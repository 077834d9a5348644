#pragma once
// A folder where results are made before they are moved to their place: PREFIX-XXXXXX, gone at its end.
#include <filesystem>
#include <string>

namespace weir {

class Staging {
 public:
  Staging(const std::filesystem::path& folder, const std::string& prefix);  // throws std::system_error
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Removes what killed processes left there under this prefix. The caller holds the lock of the place that the
// prefix belongs to: without it the folder of one that runs would go too.
void remove_leftovers(const std::filesystem::path& folder, const std::string& prefix);

}  // namespace weir
