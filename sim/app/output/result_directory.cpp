#include "sim/app/output/result_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <set>
#include <system_error>

#include "sim/app/output/output_file.h"
#include "sim/app/output/place/swap_within.h"
#include "sim/core/errors.h"

namespace weir {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void refuse(const fs::path& place, const std::string& what) {
  throw ConfigError("--out " + place.string(), "", what);
}

bool is_result(const fs::path& directory) {
  try {
    if (is_store(directory / "results.sqlite")) return true;
    if (fs::exists(directory / "reproduce.json"))
      return read_json_file(directory / "reproduce.json").is_array();
    return is_summary(read_json_file(directory / "summary.json"));
  } catch (const ConfigError&) {
    return false;
  }
}

std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> names;
  if (!fs::exists(directory)) return names;
  for (const auto& entry : fs::directory_iterator(directory))
    if (const std::string name = entry.path().filename(); !is_internal(name))
      names.insert(entry.is_directory() ? name + "/" : name);
  return names;
}

fs::path without_links(const fs::path& place) {
  const fs::path plain = fs::absolute(place).lexically_normal();
  return fs::weakly_canonical(plain.has_filename() ? plain : plain.parent_path());
}

bool lies_in(const fs::path& place, const fs::path& directory) {
  return std::mismatch(directory.begin(), directory.end(), place.begin(), place.end()).first ==
         directory.end();
}

// Beside a target, named after it, so that one left by a killed process is known for what it is.
std::string staging_beside(const fs::path& target) {
  return "." + target.filename().string() + ".partial";
}

}  // namespace

bool is_summary(const Json& json) {
  return json.is_object() && json.contains("scenario") &&
         (json.contains("request_throughput") || json.contains("training"));
}

ResultDirectory::ResultDirectory(const fs::path& place, const std::vector<fs::path>& inputs) : place_(place) {
  if (place.empty()) refuse(place, "expected a directory");
  const std::string told = "--out " + place.string();
  try {
    target_ = without_links(place);
    if (fs::is_symlink(target_)) refuse(place, "is a link to nowhere");
    if (fs::exists(target_) && !fs::is_directory(target_)) refuse(place, "is a file, not a directory");
    if (fs::exists(target_) && ::access(target_.c_str(), W_OK) != 0)
      throw std::system_error(errno, std::generic_category());
    for (const fs::path& input : inputs)
      if (fs::exists(input) && lies_in(without_links(input), target_))
        refuse(place, fmt::format("holds {}, which this command reads, and would be replaced whole. Choose "
                                  "another directory",
                                  input.string()));
    fs::create_directories(target_.parent_path());
    lock_.emplace(target_, PlaceLock::everything, told);
    if (fs::exists(target_)) finish_swap(target_);
    if (!names_in(target_).empty() && !is_result(target_))
      refuse(
          place,
          "holds files that are not a result of weir; it would be replaced whole. Choose another directory");
    if (!lock_->held()) return;
    remove_leftovers(target_.parent_path(), staging_beside(target_));
    remove_leftovers(target_, staging_within);
  } catch (const std::system_error& e) {
    cannot_write(told, e.code());
  }
}

bool ResultDirectory::within() const {
  std::error_code gone;
  return stands_alone(target_) || lies_in(fs::current_path(gone), target_);
}

fs::path ResultDirectory::file(const std::string& name) {
  if (!staging_)
    within() ? staging_.emplace(target_, staging_within)
             : staging_.emplace(target_.parent_path(), staging_beside(target_));
  fs::create_directories((staging_->path() / name).parent_path());
  return staging_->path() / name;
}

void ResultDirectory::commit() {
  const std::set<std::string> before = names_in(target_), now = names_in(staging_->path());
  std::ranges::set_difference(before, now, std::back_inserter(removed_));
  if (!fs::exists(target_))
    fs::rename(staging_->path(), target_);
  else if (within() ||
           ::renameat2(AT_FDCWD, staging_->path().c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0)
    swap_within(staging_->path(), target_);
  staging_.reset();  // with the old results, if the two were exchanged
}

std::unique_ptr<PlaceLock> lock_drawings(const fs::path& place, const std::string& told) {
  const fs::path target = without_links(place);
  for (fs::path above = target; above.has_relative_path(); above = above.parent_path()) {
    if (!is_half_swapped(above) && !is_result(above)) continue;
    auto lock = std::make_unique<PlaceLock>(above, PlaceLock::drawings, told);
    finish_swap(above);
    return lock;
  }
  return std::make_unique<PlaceLock>(target, PlaceLock::drawings, told);
}

bool makes_results(const fs::path& name) {
  return std::ranges::find(result_marks, name) != std::end(result_marks);
}

void tell_removed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  if (names.empty()) return;
  const std::size_t shown = std::min(most, names.size());
  const std::string more = shown < names.size() ? fmt::format(" and {} more", names.size() - shown) : "";
  fmt::print(stderr, "note: removed with the results of before: {}{}\n",
             fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "), more);
}

bool is_store(const fs::path& file) {
  std::array<unsigned char, 72> head{};  // SQLite keeps an application's id at byte 68
  std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(head.data()), head.size());
  const auto id = std::uint32_t{head[68]} << 24 | std::uint32_t{head[69]} << 16 |
                  std::uint32_t{head[70]} << 8 | std::uint32_t{head[71]};
  return std::equal(head.begin(), head.begin() + 16, "SQLite format 3") && id == store_application_id;
}

}  // namespace weir
