#pragma once
// One weir at a time writes to a place, a result directory or a single file: whoever does holds a lock on it
// from before it reads or makes anything there until it has tidied up. The lock is on a file beside the
// place (.NAME.lock), which is gone when nobody holds it; the lock itself ends with its process, however
// that dies, and is not inherited by children. Construct an Interruption first, so that a signal leaves no
// file behind.
#include <filesystem>
#include <string>

namespace weir {

class PlaceLock {
 public:
  // A sweep's figures and report may be made while it runs: they are a part of their own. A run replaces
  // both parts.
  enum Part : int { results = 1, drawings = 2, everything = 3 };

  // `place` is canonical, its parent exists. Throws ConfigError, beginning with `told`, where another weir
  // writes there or nobody may.
  PlaceLock(const std::filesystem::path& place, Part part, const std::string& told);
  ~PlaceLock();
  PlaceLock(const PlaceLock&) = delete;
  PlaceLock& operator=(const PlaceLock&) = delete;

  void keep_only(Part part);           // others may take the rest
  bool held() const { return held_; }  // false on a file system without locks: then nobody is kept out

 private:
  bool set(Part part, short type);
  bool names_our_file() const;

  std::filesystem::path file_;
  int descriptor_ = -1;
  Part part_;
  bool held_ = false;
};

// Is it a directory that nothing can be put beside: one where a file system is mounted, or in a folder that
// cannot be written?
bool stands_alone(const std::filesystem::path& directory);
constexpr const char* lock_within = ".lock";  // the lock's file in such a directory

}  // namespace weir
