#include "sim/app/output/output_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <system_error>
#include <utility>

#include "sim/core/errors.h"

namespace weir {

namespace {

// The name is random, so that no other program can have made it before. A long one is cut to what a folder
// takes.
std::filesystem::path partial_beside(const std::filesystem::path& path) {
  constexpr std::size_t longest = 200;
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number))
    throw std::system_error(errno, std::generic_category(), "no randomness for a file's name");
  return path.parent_path() /
         fmt::format(".{}.{:016x}.partial", path.filename().string().substr(0, longest), number);
}

// A file without a name, of which a kill leaves nothing; -1: the file system has none, or no way to name it.
int unnamed_beside(const std::filesystem::path& path) {
  if (::access("/proc/self/fd", X_OK) != 0) return -1;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  return ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
}

bool give_name(int descriptor, const std::filesystem::path& name) {
  const std::string unnamed = fmt::format("/proc/self/fd/{}", descriptor);
  return ::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)), partial_(partial_beside(path_)) {
  descriptor_ = unnamed_beside(path_);
  if (descriptor_ >= 0) return;
  named_ = true;
  descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail();
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (named_) ::unlink(partial_.c_str());
}

void OutputFile::fail() const {
  throw std::system_error(errno, std::generic_category(), "cannot write " + path_.string());
}

void OutputFile::flush() {
  const char* from = buffer_.data();
  std::size_t left = buffer_.size();
  while (left > 0) {
    const ssize_t written = ::write(descriptor_, from, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    from += written;
    left -= static_cast<std::size_t>(written);
  }
  buffer_.clear();
}

void OutputFile::close() {
  flush();
  if (!named_ && !give_name(descriptor_, partial_)) fail();
  named_ = true;
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) == 0 && ::rename(partial_.c_str(), path_.c_str()) == 0) return;
  const int why = errno;
  ::unlink(partial_.c_str());
  errno = why;
  fail();
}

void cannot_write(const std::string& told, std::error_code why) {
  const std::error_condition wrong_places[] = {
      std::errc::permission_denied,     std::errc::operation_not_permitted,
      std::errc::read_only_file_system, std::errc::no_such_file_or_directory,
      std::errc::not_a_directory,       std::errc::is_a_directory,
      std::errc::filename_too_long,     std::errc::too_many_symbolic_link_levels};
  if (std::ranges::any_of(wrong_places, [&](const std::error_condition& wrong) { return why == wrong; }))
    throw ConfigError(told, "", "cannot be written: " + why.message());
  throw std::system_error(why, told + ": cannot be written");
}

void write_named_file(const std::filesystem::path& path, const std::function<void(OutputFile&)>& write) try {
  OutputFile file(path);
  write(file);
  file.close();
} catch (const std::system_error& e) {
  cannot_write(path.string(), e.code());
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  OutputFile file(path);
  file.text(text);
  file.close();
}

void append_integer(fmt::memory_buffer& buffer, std::int64_t value) {
  const fmt::format_int digits(value);
  buffer.append(digits.data(), digits.data() + digits.size());
}

void append_fixed(fmt::memory_buffer& buffer, double value, int decimals) {
  static constexpr double scales[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
  const double scaled = std::abs(value) * scales[decimals];
  if (!(scaled < 9e15)) {  // beyond what a double holds to the digit
    fmt::format_to(std::back_inserter(buffer), "{:.{}f}", value, decimals);
    return;
  }
  auto left = static_cast<std::uint64_t>(scaled + 0.5);
  char digits[24];
  char* from = std::end(digits);
  const bool negative = value < 0 && left > 0;
  for (int i = 0; i < decimals; ++i, left /= 10) *--from = static_cast<char>('0' + left % 10);
  if (decimals > 0) *--from = '.';
  do *--from = static_cast<char>('0' + left % 10);
  while (left /= 10);
  if (negative) *--from = '-';
  buffer.append(from, std::end(digits));
}

}  // namespace weir
