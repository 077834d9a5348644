#include "sim/app/quoting/quoting.h"

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>

#include "sim/app/quoting/code_points.h"

namespace weir {
namespace {

std::string shown(const CodePoint& c) {
  if (!is_plain(c.value)) return escaped(c.value);
  return c.value == replacement_character ? "\xEF\xBF\xBD" : std::string(c.bytes);
}

// A literal block keeps every line as it is, but for one that begins with a blank, a last one that is empty,
// and characters that have no other spelling there.
bool fits_literal_block(const std::string& text) {
  if (text.empty() || text.front() == ' ' || text.front() == '\n' || text.back() == '\n') return false;
  return std::ranges::all_of(code_points(text), [](const CodePoint& c) {
    return c.value == '\n' || (is_plain(c.value) && c.value != replacement_character);
  });
}

}  // namespace

std::string shell_word(const std::string& text) {
  constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=.,/:@%+";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  return "'" + boost::replace_all_copy(text, "'", "'\\''") + "'";
}

std::string yaml_scalar(const std::string& text) {
  std::string quoted = "\"";
  for (const CodePoint& c : code_points(text))
    quoted += c.value == '"' || c.value == '\\' ? "\\" + std::string(c.bytes) : shown(c);
  return quoted + "\"";
}

std::string yaml_block(const std::string& text, std::size_t columns) {
  if (!fits_literal_block(text)) return yaml_scalar(text);
  const std::string line = "\n" + std::string(columns, ' ');
  return "|-" + line + boost::replace_all_copy(text, "\n", line);
}

std::string comment_text(const std::string& text) {
  std::string line;
  for (const CodePoint& c : code_points(text)) line += shown(c);
  return line;
}

}  // namespace weir
