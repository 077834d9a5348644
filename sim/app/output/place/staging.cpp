#include "sim/app/output/place/staging.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <exception>
#include <system_error>
#include <vector>

namespace weir {
namespace fs = std::filesystem;

Staging::Staging(const fs::path& folder, const std::string& prefix) {
  std::string name = (folder / (prefix + "-XXXXXX")).string();
  if (!::mkdtemp(name.data()))
    throw std::system_error(errno, std::generic_category(), "cannot make a folder in " + folder.string());
  path_ = name;
  const mode_t mask = ::umask(0);  // mkdtemp gives 0700; a result is as readable as any other directory
  ::umask(mask);
  ::chmod(path_.c_str(), 0777 & ~mask);
}

Staging::~Staging() try {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
} catch (const std::exception&) {  // no memory for it: the next one that writes there removes it
  return;
}

void remove_leftovers(const fs::path& folder, const std::string& prefix) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with(prefix + "-")) found.push_back(entry.path());
  for (const fs::path& leftover : found) fs::remove_all(leftover, ignored);
}

}  // namespace weir
