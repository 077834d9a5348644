#include "sim/app/output/text_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weir {
namespace {

constexpr std::size_t margin = 2, gap = 2;

std::size_t total(const std::vector<std::size_t>& widths) {
  return margin + gap * (widths.size() - 1) + std::accumulate(widths.begin(), widths.end(), std::size_t{0});
}

// Takes columns off the widest ones until all fit, none below its least.
void shrink(std::vector<std::size_t>& widths, const std::vector<std::size_t>& least, std::size_t width) {
  while (total(widths) > width) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (widths[i] > least[i] && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

}  // namespace

std::vector<std::size_t> TextGrid::widths(std::size_t width) const {
  std::vector<std::size_t> all, words, parts;
  const auto at_least = [](std::vector<std::size_t>& of, std::size_t column, std::size_t columns) {
    if (of.size() <= column) of.resize(column + 1, 0);
    of[column] = std::max(of[column], columns);
  };
  for (const Row& row : rows_)
    for (std::size_t i = 0; i < row.cells.size() && !row.note; ++i) {
      const LongestPieces longest = longest_pieces(row.cells[i]);
      at_least(all, i, columns_of(row.cells[i]));
      at_least(words, i, longest.word);
      at_least(parts, i, longest.part);
    }
  if (all.empty() || total(all) <= width) return all;
  std::copy_n(parts.begin(), std::min(left_, parts.size()),
              words.begin());  // names may be broken before numbers
  shrink(all, words, width);
  shrink(all, parts, width);
  shrink(all, std::vector<std::size_t>(all.size(), 1), width);
  return all;
}

std::string TextGrid::text(std::size_t width) const {
  const std::vector<std::size_t> columns = widths(width);
  std::string text;
  for (const Row& row : rows_) {
    if (row.note) {
      const std::size_t indent = margin + (columns.empty() ? 0 : columns[0] + gap);
      for (const std::string& line : wrapped(row.cells[0], width == unbounded ? width : width - indent))
        text += std::string(indent, ' ') + line + "\n";
      continue;
    }
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      height = std::max(height, cells.emplace_back(wrapped(row.cells[i], columns[i])).size());
    for (std::size_t h = 0; h < height; ++h) {
      std::string line;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string cell = h < cells[i].size() ? cells[i][h] : "";
        const std::string space(columns[i] - columns_of(cell), ' ');
        line += std::string(i == 0 ? margin : gap, ' ') + (i < left_ ? cell + space : space + cell);
      }
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
  }
  return text;
}

std::string shown_number(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  if (size < std::min(1000.0, std::pow(10, digits)) - 0.5 || size >= 1e12)
    return fmt::format("{:.{}g}", value, digits);
  std::string text = fmt::format("{:.0f}", value);
  for (std::size_t i = text.size(); i > 3 + (value < 0); text.insert(i, ",")) i -= 3;
  return text;
}

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  for (auto i = std::ssize(digits) - 3; i > (value < 0 ? 1 : 0); i -= 3)
    digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

std::string shown_percent(double share) {
  const double percent = 100 * share;
  const bool readable = std::abs(percent) < 99999.5;
  return (readable ? fmt::format("{:.1f}", percent) : shown_number(percent, 4)) + " %";
}

std::string shown_estimate(double mean, double half_width) {
  const std::string text = shown_number(mean, 4);
  return half_width > 0 ? text + " ±" + shown_number(half_width, 2) : text;
}

}  // namespace weir
