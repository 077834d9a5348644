#include "sim/app/output/place/result_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "sim/app/interruption.h"
#include "sim/app/output/result_directory.h"
#include "sim/core/errors.h"

namespace weir {
namespace fs = std::filesystem;
namespace {

std::string told(const fs::path& path) {
  return "--out " + path.string();
}

[[noreturn]] void refuse_file(const fs::path& path, const std::string& what) {
  throw ConfigError(told(path), "", what);
}

const char* other_than_a_file(fs::file_type type) {
  using Type = fs::file_type;
  return type == Type::directory                          ? "a directory"
         : type == Type::symlink                          ? "a link"
         : type == Type::fifo                             ? "a named pipe"
         : type == Type::socket                           ? "a socket"
         : type == Type::character || type == Type::block ? "a device"
                                                          : nullptr;
}

// By another name or another link, too.
bool is_input(const fs::path& path, const fs::path& input) {
  std::error_code error;
  return fs::equivalent(path, input, error);
}

void check_folder(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  struct stat found {};
  if (::stat(folder.c_str(), &found) != 0 || ::access(folder.c_str(), W_OK | X_OK) != 0)
    cannot_write(told(path), {errno, std::generic_category()});
  if (!S_ISDIR(found.st_mode)) cannot_write(told(path), std::make_error_code(std::errc::not_a_directory));
}

}  // namespace

void ResultFile::check() const {
  check_place();
  check_folder(path);
}

void ResultFile::check_place() const {
  if (path.empty() || !path.has_filename()) refuse_file(path, "expected a file");
  std::error_code error;
  const fs::file_status there = fs::symlink_status(path, error);
  if (there.type() == fs::file_type::not_found) return;  // check_folder() says whether it can be made
  if (error) cannot_write(told(path), error);
  if (const char* other = other_than_a_file(there.type()))
    refuse_file(path, fmt::format("is {}; expected {}, or nothing there yet", other, kind));
  if (std::ranges::any_of(inputs, [&](const fs::path& input) { return is_input(path, input); }))
    refuse_file(path, "is what this command reads; choose another file");
  if (fs::file_size(path, error) > 0 && !is_such_result(path))
    refuse_file(path, fmt::format("is not {}, and would be replaced; choose another file", kind));
}

std::unique_ptr<PlaceLock> ResultFile::lock() const {
  check_place();
  auto held = lock_drawings(path, told(path));
  check();
  return held;
}

void ResultFile::write(const std::function<void(OutputFile&)>& content) const {
  check();
  write_named_file(path, [&](OutputFile& file) {
    content(file);
    Interruption::check();
  });
}

std::string beginning_of(const fs::path& file, std::size_t most) {
  std::string read(most, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(read.data(), static_cast<std::streamsize>(most));
  read.resize(static_cast<std::size_t>(in.gcount()));
  return read;
}

}  // namespace weir
