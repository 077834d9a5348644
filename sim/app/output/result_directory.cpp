#include "sim/app/output/result_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>

#include "sim/core/errors.h"
#include "sim/core/params.h"

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
    const Json summary = read_json_file(directory / "summary.json");
    return summary.is_object() && summary.contains("scenario") && summary.contains("request_throughput");
  } catch (const ConfigError&) {
    return false;
  }
}

// Named after its target, so that one left by a killed process is known for what it is.
fs::path make_staging(const fs::path& target) {
  std::string name =
      (target.parent_path() / fmt::format(".{}.partial-XXXXXX", target.filename().string())).string();
  if (!::mkdtemp(name.data()))
    throw std::system_error(errno, std::generic_category(), "cannot make a directory beside it");
  const mode_t mask = ::umask(0);  // mkdtemp gives 0700; a result is as readable as any other directory
  ::umask(mask);
  ::chmod(name.c_str(), 0777 & ~mask);
  return name;
}

// Swaps two directories in one step where the file system can; otherwise `from` takes the place of `to` in
// two.
void exchange(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return;
  const fs::path old = from.string() + "-old";
  fs::rename(to, old);
  fs::rename(from, to);
  fs::rename(old, from);
}

}  // namespace

ResultDirectory::ResultDirectory(const fs::path& place) : place_(place) {
  if (place.empty()) refuse(place, "expected a directory");
  const fs::path plain = fs::absolute(place).lexically_normal();
  try {
    target_ = fs::weakly_canonical(plain.has_filename() ? plain : plain.parent_path());  // a link is followed
    if (fs::is_symlink(target_)) refuse(place, "is a link to nowhere");
    if (fs::exists(target_) && !fs::is_directory(target_)) refuse(place, "is a file, not a directory");
    if (fs::exists(target_) && !fs::is_empty(target_) && !is_result(target_))
      refuse(
          place,
          "holds files that are not a result of weir; it would be replaced whole. Choose another directory");
    if (fs::exists(target_) && ::access(target_.c_str(), W_OK) != 0)
      throw std::system_error(errno, std::generic_category());
    fs::create_directories(target_.parent_path());
    fs::remove(make_staging(target_));
  } catch (const std::system_error& e) {
    refuse(place, "cannot be written: " + e.code().message());
  }
}

ResultDirectory::~ResultDirectory() {
  std::error_code ignored;
  if (!staging_.empty()) fs::remove_all(staging_, ignored);
}

fs::path ResultDirectory::file(const std::string& name) {
  if (staging_.empty()) staging_ = make_staging(target_);
  fs::create_directories((staging_ / name).parent_path());
  return staging_ / name;
}

void ResultDirectory::commit() {
  if (fs::exists(target_)) {
    exchange(staging_, target_);  // the destructor removes the old one
    return;
  }
  fs::rename(staging_, target_);
  staging_.clear();
}

bool is_store(const fs::path& file) {
  std::array<unsigned char, 72> head{};  // SQLite keeps an application's id at byte 68
  std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(head.data()), head.size());
  const auto id = std::uint32_t{head[68]} << 24 | std::uint32_t{head[69]} << 16 |
                  std::uint32_t{head[70]} << 8 | std::uint32_t{head[71]};
  return std::equal(head.begin(), head.begin() + 16, "SQLite format 3") && id == store_application_id;
}

}  // namespace weir
