#pragma once
// The directory of a sweep: there, with its store, from the start, so that what kills the sweep leaves
// something to resume. One sweep at a time: it is locked as long as this lives.
#include <filesystem>
#include <memory>
#include <vector>

#include "sim/app/sweep/sweep.h"

namespace weir {

class SweepDirectory {
 public:
  // Makes it anew, replacing whole what Weir left there before; with `resume`, goes on with what is there, if
  // anything is. Throws ConfigError if it cannot be written, is another's, is another sweep's (resume), or a
  // sweep runs in it.
  SweepDirectory(const std::filesystem::path& place, const Sweep& sweep, bool resume);
  ~SweepDirectory();
  SweepDirectory(const SweepDirectory&) = delete;
  SweepDirectory& operator=(const SweepDirectory&) = delete;

  ResultStore& store() { return *store_; }
  std::filesystem::path file(const std::string& name) const { return place_ / name; }
  void close() { store_.reset(); }  // the store is whole, and nobody writes to it any more

 private:
  void lock(const std::filesystem::path& directory);
  std::filesystem::path place_;
  std::vector<int> locks_;
  std::unique_ptr<ResultStore> store_;
};

}  // namespace weir
