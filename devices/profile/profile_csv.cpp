#include "devices/profile/profile_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "sim/core/params.h"

namespace weir {
namespace {

constexpr std::size_t listed_problems = 10;  // of one file; more of the same do not help

void split(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  for (std::size_t from = 0; from <= line.size();) {
    const std::size_t to = std::min(line.find(',', from), line.size());
    cells.push_back(line.substr(from, to - from));
    from = to + 1;
  }
}

double number(std::string_view cell) {  // NaN where it is none
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  const bool whole = error == std::errc() && end == cell.data() + cell.size();
  return whole ? value : std::numeric_limits<double>::quiet_NaN();
}

// Says what was expected in the place of a value, or "". A kernel that takes no time was not measured.
std::string missed_by(double value, ProfileColumn::Holds holds) {
  using Holds = ProfileColumn::Holds;
  if (holds == Holds::count)
    return value >= 1 && value <= 1e12 && value == std::floor(value) ? "" : "a whole number >= 1";
  return missed(value, holds == Holds::time ? positive : not_negative);
}

}  // namespace

class ProfileFile {
 public:
  ProfileFile(const std::filesystem::path& file, std::span<const ProfileColumn> columns,
              std::vector<Problem>& problems)
      : file_(file), columns_(columns), problems_(problems), row_(columns.size()) {}

  void read(const std::function<std::string(const ProfileRow&)>& row) {
    std::string text;
    try {
      text = read_text_file(file_, most_document_bytes);
    } catch (const ConfigError& e) {
      return problem(0, e.problems()[0].what);
    }
    rest_ = text;
    if (rest_.empty()) return problem(0, "is empty");
    const std::string_view titles = next_line();
    split(titles, cells_);
    header_ = cells_.size();
    if (const std::string wrong = find_columns(); !wrong.empty())
      return problem(1, fmt::format("{} (there are {})", wrong, shortened(titles)));
    for (std::size_t n = 2; !rest_.empty(); ++n) {
      const std::string_view line = next_line();
      if (line.empty()) continue;
      std::string wrong = wrong_in(line);
      if (wrong.empty()) wrong = row(row_);
      if (!wrong.empty()) problem(n, wrong);
    }
    if (count_ > listed_problems)
      problems_.push_back({"", fmt::format("{}: and {} more such lines", shortened(file_.string()),
                                           count_ - listed_problems)});
  }

 private:
  void problem(std::size_t line, const std::string& what) {
    const std::string at = line > 0 ? fmt::format(":{}", line) : "";
    if (++count_ <= listed_problems)
      problems_.push_back({"", fmt::format("{}{}: {}", shortened(file_.string()), at, what)});
  }

  std::string_view next_line() {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return line.substr(0, line.find_last_not_of(" \r\t") + 1);
  }

  // Where each wanted column is among the titles; what is wrong with these, or "".
  std::string find_columns() {
    for (const ProfileColumn& column : columns_) {
      const auto it = std::find(cells_.begin(), cells_.end(), column.name);
      if (it != cells_.end() && std::find(it + 1, cells_.end(), column.name) != cells_.end())
        return std::string("two columns ") + column.name;
      if (it == cells_.end() && !column.optional) return std::string("no column ") + column.name;
      at_.push_back(it == cells_.end() ? std::string::npos : static_cast<std::size_t>(it - cells_.begin()));
    }
    return "";
  }

  std::string wrong_in(std::string_view line) {
    split(line, cells_);
    if (cells_.size() != header_) return fmt::format("expected {} values, got {}", header_, cells_.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      row_.texts_[i] = {};
      row_.numbers_[i] = std::numeric_limits<double>::quiet_NaN();
      if (at_[i] == std::string::npos) continue;
      row_.texts_[i] = cells_[at_[i]];
      if (columns_[i].holds == ProfileColumn::Holds::text) continue;
      row_.numbers_[i] = number(row_.texts_[i]);
      const std::string expected = missed_by(row_.numbers_[i], columns_[i].holds);
      if (!expected.empty())
        return fmt::format("{}: expected {}, got \"{}\"", columns_[i].name, expected,
                           shortened(row_.texts_[i]));
    }
    return "";
  }

  const std::filesystem::path& file_;
  std::span<const ProfileColumn> columns_;
  std::vector<Problem>& problems_;
  ProfileRow row_;
  std::string_view rest_;
  std::vector<std::string_view> cells_;
  std::vector<std::size_t> at_;
  std::size_t header_ = 0, count_ = 0;
};

void read_profile_table(const std::filesystem::path& file, std::span<const ProfileColumn> columns,
                        const std::function<std::string(const ProfileRow&)>& row,
                        std::vector<Problem>& problems) {
  ProfileFile(file, columns, problems).read(row);
}

}  // namespace weir
