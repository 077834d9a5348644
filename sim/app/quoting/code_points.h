#pragma once
// A text as the characters that YAML and comments have to tell apart.
#include <string>
#include <string_view>
#include <vector>

namespace weir {

struct CodePoint {
  char32_t value;
  std::string_view bytes;  // a view into the text
};

constexpr char32_t replacement_character = 0xFFFD;  // for a byte that is no UTF-8
std::vector<CodePoint> code_points(std::string_view text);

// Does it stand for itself on a line? Not what ends one for YAML 1.1, what its parsers refuse, nor what turns
// the direction of writing, so that a line is not what it shows (trojansource.codes, CVE-2021-42574).
bool is_plain(char32_t c);

// \x1b, \u2028, \U000e0001: as YAML and C have it.
std::string escaped(char32_t c);

}  // namespace weir
