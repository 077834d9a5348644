#include "sim/app/plot/columns.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <limits>

#include "sim/core/errors.h"

namespace weir {
namespace {

std::vector<std::string_view> cells_of(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string_view> cells;
  for (std::size_t from = 0; from <= line.size();) {
    const std::size_t to = std::min(line.find(',', from), line.size());
    cells.push_back(line.substr(from, to - from));
    from = to + 1;
  }
  return cells;
}

}  // namespace

std::vector<std::vector<double>> read_columns(const std::filesystem::path& file,
                                              const std::vector<std::string>& names) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) throw ConfigError(file.string(), "", "cannot be read, or is empty");
  const std::string header = line;
  const std::vector<std::string_view> titles = cells_of(header);
  std::vector<std::size_t> places;
  for (const std::string& name : names) {
    const auto at = std::find(titles.begin(), titles.end(), name);
    if (at == titles.end()) throw ConfigError(file.string(), "line 1", "has no column " + name);
    places.push_back(static_cast<std::size_t>(at - titles.begin()));
  }
  std::vector<std::vector<double>> columns(names.size());
  for (int row = 2; std::getline(in, line); ++row) {
    const std::vector<std::string_view> cells = cells_of(line);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::string_view cell = places[i] < cells.size() ? cells[places[i]] : "";
      double value = std::numeric_limits<double>::quiet_NaN();
      const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
      if (!cell.empty() && (error != std::errc() || end != cell.data() + cell.size()))
        throw ConfigError(file.string(), fmt::format("line {}", row),
                          fmt::format("{}: expected a number, got \"{}\"", names[i], cell));
      columns[i].push_back(value);
    }
  }
  return columns;
}

std::string csv_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? '\'' : static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return out + "\"";
}

}  // namespace weir
