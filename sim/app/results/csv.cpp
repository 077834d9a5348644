#include "sim/app/results/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "sim/core/params.h"

namespace weir {
namespace {

// A comma in quotes ends no cell.
void split(std::string_view line, std::vector<std::string_view>& cells) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  cells.clear();
  std::size_t from = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] != ',' || quoted) continue;
    cells.push_back(line.substr(from, i - from));
    from = i + 1;
  }
  cells.push_back(line.substr(from));
}

std::optional<double> number_in(std::string_view cell) {
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) return {};
  return value;
}

std::string no_number(const std::string& column, std::string_view cell) {
  return fmt::format("{}: expected a number, got \"{}\"", column, cell);
}

}  // namespace

CsvReader::CsvReader(const std::filesystem::path& file) : file_(file.string()) {
  require_file(file);
  in_.open(file);
  if (!std::getline(in_, text_)) throw ConfigError(file_, "", "cannot be read, or is empty");
  split(text_, cells_);
  header_.assign(cells_.begin(), cells_.end());
}

bool CsvReader::next() {
  do {
    if (!std::getline(in_, text_)) return false;
    ++line_;
  } while (text_.empty() || text_ == "\r");
  split(text_, cells_);
  if (cells_.size() != header_.size())
    fail(fmt::format("expected {} columns, got {}", header_.size(), cells_.size()));
  return true;
}

std::size_t CsvReader::place(const std::string& column) const {
  const auto at = std::find(header_.begin(), header_.end(), column);
  if (at == header_.end()) throw ConfigError(file_, "line 1", "has no column " + column);
  return static_cast<std::size_t>(at - header_.begin());
}

double CsvReader::number(std::size_t place) const {
  if (cells_[place].empty()) return std::numeric_limits<double>::quiet_NaN();
  const std::optional<double> value = number_in(cells_[place]);
  if (!value) fail(no_number(header_[place], cells_[place]));
  return *value;
}

void CsvReader::fail(const std::string& what) const {
  throw ConfigError(file_, fmt::format("line {}", line_), what);
}

std::vector<std::vector<double>> read_columns(const std::filesystem::path& file,
                                              const std::vector<std::string>& names) {
  CsvReader in(file);
  std::vector<std::size_t> places;
  for (const std::string& name : names) places.push_back(in.place(name));
  std::vector<std::vector<double>> columns(names.size());
  while (in.next())
    for (std::size_t i = 0; i < places.size(); ++i) columns[i].push_back(in.number(places[i]));
  return columns;
}

Table Table::read(const std::filesystem::path& path) {
  CsvReader in(path);
  Table table;
  table.file_ = path.string();
  for (std::size_t i = 0; i < in.header().size(); ++i) table.columns_[in.header()[i]] = i;
  while (in.next()) table.cells_.emplace_back(in.cells().begin(), in.cells().end());
  return table;
}

const std::string& Table::text(std::size_t row, const std::string& column) const {
  const auto at = columns_.find(column);
  if (at == columns_.end()) throw ConfigError(file_, "", "has no column " + column);
  return cells_[row][at->second];
}

double Table::number(std::size_t row, const std::string& column) const {
  const std::string& cell = text(row, column);
  const std::optional<double> value = number_in(cell);
  if (!value) throw ConfigError(file_, fmt::format("line {}", row + 2), no_number(column, cell));
  return *value;
}

std::int64_t Table::integer(std::size_t row, const std::string& column) const {
  const double value = number(row, column);
  if (value != std::floor(value))
    throw ConfigError(file_, fmt::format("line {}", row + 2),
                      fmt::format("{}: expected a whole number, got {}", column, value));
  return static_cast<std::int64_t>(value);
}

}  // namespace weir
