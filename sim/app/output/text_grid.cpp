#include "sim/app/output/text_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

std::size_t width_of(const std::string& text) {  // ± is two bytes and one column
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string TextGrid::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  std::string text;
  for (const auto& row : rows_) {
    std::string line = "  " + row[0] + std::string(widths[0] - width_of(row[0]), ' ');
    for (std::size_t i = 1; i < row.size(); ++i)
      line += "  " + std::string(widths[i] - width_of(row[i]), ' ') + row[i];
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
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
