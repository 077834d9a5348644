#pragma once
// The directory of a sweep: there, with its store, from the start, so that what kills the sweep leaves
// something to resume. Locked as long as this lives, but for what is drawn of the results, which may be
// looked at while it runs.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/app/output/result_directory.h"
#include "sim/app/sweep/sweep.h"

namespace weir {

class SweepDirectory {
 public:
  // Makes it anew, replacing whole what Weir left there before; with `resume`, goes on with what is there, if
  // anything is. Throws ConfigError if it cannot be written, is another's, is another sweep's (resume), or
  // another weir writes there.
  SweepDirectory(const std::filesystem::path& place, const Sweep& sweep, bool resume);

  ResultStore& store() { return *store_; }
  std::filesystem::path file(const std::string& name) const { return place_ / name; }
  // Files that stood there before, and that no sweep makes.
  const std::vector<std::string>& removed() const { return removed_; }
  void close() { store_.reset(); }  // the store is whole, and nobody writes to it any more

 private:
  std::filesystem::path place_;
  std::optional<ResultDirectory> directory_;
  std::vector<std::string> removed_;
  std::unique_ptr<ResultStore> store_;
};

}  // namespace weir
