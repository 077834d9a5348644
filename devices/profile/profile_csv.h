#pragma once
// Reads one CSV file of a profile folder by the names of its columns. Used by the readers of profile_bundle.h
// and profile_shapes.h.
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.h"

namespace weir {

struct ProfileColumn {
  const char* name;
  enum class Holds { text, number, time, count } holds = Holds::number;  // count: whole, from 1 on
  bool optional = false;
};

// The wanted columns of one line, as the caller numbers them.
class ProfileRow {
 public:
  explicit ProfileRow(std::size_t columns) : texts_(columns), numbers_(columns) {}
  std::string_view text(std::size_t column) const { return texts_[column]; }
  double operator[](std::size_t column) const {
    return numbers_[column];
  }  // NaN: the file has no such column
  bool has(std::size_t column) const { return texts_[column].data() != nullptr; }

 private:
  friend class ProfileFile;
  std::vector<std::string_view> texts_;
  std::vector<double> numbers_;
};

// Calls `row` for each line whose numbers are right; what it returns, where that is not "", is a problem of
// the line. Columns that are not named are ignored. Every problem has file and line.
void read_profile_table(const std::filesystem::path& file, std::span<const ProfileColumn> columns,
                        const std::function<std::string(const ProfileRow&)>& row,
                        std::vector<Problem>& problems);

}  // namespace weir
