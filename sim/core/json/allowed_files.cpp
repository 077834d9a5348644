#include "sim/core/json/allowed_files.h"

#include <algorithm>
#include <optional>

#include "sim/core/errors.h"

namespace weir {
namespace {

std::optional<std::set<std::filesystem::path>> allowed;

// By its words alone: a link or a ".." could lead elsewhere, so that neither is resolved, and behind the
// folder no ".." is taken.
bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const auto [left, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return left == folder.end() && std::find(rest, path.end(), "..") == path.end();
}

}  // namespace

void allow_only(const std::set<std::filesystem::path>& files) {
  allowed.emplace();
  for (const auto& file : files) {
    const auto whole = std::filesystem::absolute(file);
    allowed->insert(whole.has_filename() ? whole : whole.parent_path());  // of "profile/"
  }
}

void require_allowed(const std::filesystem::path& path) {
  if (!allowed) return;
  const auto whole = std::filesystem::absolute(path);
  if (std::none_of(allowed->begin(), allowed->end(), [&](const auto& file) { return lies_in(whole, file); }))
    throw ConfigError(path.string(), "", "is no file that the scenario named when it was opened");
}

}  // namespace weir
