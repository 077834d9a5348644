#include "sim/app/quoting/code_points.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir {
namespace {

// How many bytes the character takes that begins with this one; 0: none begins so.
std::size_t length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

bool follows(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

CodePoint first_of(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = length_of(first);
  const CodePoint none{replacement_character, text.substr(0, 1)};
  if (length == 0 || length > text.size() || !std::all_of(text.begin() + 1, text.begin() + length, follows))
    return none;
  if (length == 1) return {first, text.substr(0, 1)};
  char32_t value = first & (0xFFu >> (length + 1));
  for (const char c : text.substr(1, length - 1))
    value = value << 6 | (static_cast<unsigned char>(c) & 0x3Fu);
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  return value < least[length] || value > 0x10FFFF || surrogate ? none
                                                                : CodePoint{value, text.substr(0, length)};
}

}  // namespace

std::vector<CodePoint> code_points(std::string_view text) {
  std::vector<CodePoint> all;
  while (!text.empty()) {
    all.push_back(first_of(text));
    text.remove_prefix(all.back().bytes.size());
  }
  return all;
}

bool is_plain(char32_t c) {
  const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
  const bool line_end = c == 0x2028 || c == 0x2029;
  const bool turns = c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
                     (c >= 0x2066 && c <= 0x2069);
  const bool no_character = c == 0xFEFF || (c & 0xFFFE) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF);
  return !control && !line_end && !turns && !no_character;
}

std::string escaped(char32_t c) {
  const auto number = static_cast<std::uint32_t>(c);
  if (c < 0x100) return fmt::format("\\x{:02x}", number);
  return c < 0x10000 ? fmt::format("\\u{:04x}", number) : fmt::format("\\U{:08x}", number);
}

}  // namespace weir
