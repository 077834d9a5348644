#include "sim/app/output/place/place_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "sim/app/output/output_file.h"
#include "sim/core/errors.h"

namespace weir {
namespace fs = std::filesystem;
namespace {

// A byte of the file for each part.
struct ::flock bytes_of(PlaceLock::Part part, short type) {
  struct ::flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = part == PlaceLock::drawings ? 1 : 0;
  lock.l_len = part == PlaceLock::everything ? 2 : 1;
  return lock;
}

}  // namespace

PlaceLock::PlaceLock(const fs::path& place, Part part, const std::string& told)
    : file_(stands_alone(place) ? place / lock_within
                                : place.parent_path() / ("." + place.filename().string() + ".lock")),
      part_(part) {
  while (descriptor_ < 0) {
    descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0) cannot_write(told, {errno, std::generic_category()});
    held_ = set(part, F_WRLCK);
    if (!held_ && (errno == EACCES || errno == EAGAIN)) {
      struct ::flock theirs = bytes_of(part, F_WRLCK);
      const bool known = ::fcntl(descriptor_, F_GETLK, &theirs) == 0 && theirs.l_type != F_UNLCK;
      ::close(descriptor_);
      throw ConfigError(told, "",
                        known ? fmt::format("another weir (process {}) is writing there", theirs.l_pid)
                              : "another weir is writing there");
    }
    if (!held_ || names_our_file()) return;
    ::close(std::exchange(descriptor_, -1));  // its last holder removed it before we had it
  }
}

PlaceLock::~PlaceLock() {
  // The last holder of any part removes the file: while the whole of it is locked nobody else has any.
  set(part_, F_UNLCK);
  if (!held_ || (set(everything, F_WRLCK) && names_our_file())) ::unlink(file_.c_str());
  ::close(descriptor_);
}

void PlaceLock::keep_only(Part part) {
  set(static_cast<Part>(part_ & ~part), F_UNLCK);
  part_ = part;
}

bool PlaceLock::set(Part part, short type) {
  const struct ::flock lock = bytes_of(part, type);
  return ::fcntl(descriptor_, F_SETLK, &lock) == 0;
}

bool PlaceLock::names_our_file() const {
  struct stat ours {
  }, named{};
  return ::fstat(descriptor_, &ours) == 0 && ::lstat(file_.c_str(), &named) == 0 &&
         ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

bool stands_alone(const fs::path& directory) {
  struct statx found {};
  if (::statx(AT_FDCWD, directory.c_str(), 0, 0, &found) != 0 || !S_ISDIR(found.stx_mode)) return false;
  return (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0 ||
         ::access(directory.parent_path().c_str(), W_OK) != 0;
}

}  // namespace weir
