#pragma once
// The file that --out names. What stands there already is replaced only where it is a result of the same
// kind; never what the command reads, and no link, device or pipe. Tell what is wrong before the work, by
// check(), and write at its end.
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/app/output/output_file.h"
#include "sim/app/output/place/place_lock.h"

namespace weir {

struct ResultFile {
  std::filesystem::path path;
  std::string kind;  // "a page of weir report"
  std::function<bool(const std::filesystem::path&)> is_such_result;
  std::vector<std::filesystem::path> inputs = {};  // files that the command reads

  void check() const;                       // throws ConfigError, as do the others
  std::unique_ptr<PlaceLock> lock() const;  // keeps other weirs out: to be held from before results are read
  void write(const std::function<void(OutputFile&)>& content) const;

 private:
  void check_place() const;  // all but its folder
};

std::string beginning_of(const std::filesystem::path& file, std::size_t most);  // "" where it cannot be read

}  // namespace weir
