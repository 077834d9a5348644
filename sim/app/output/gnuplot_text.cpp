#include "sim/app/output/gnuplot.h"

#include <fmt/format.h>

#include <boost/algorithm/string/replace.hpp>
#include <cstring>

#include "sim/core/params.h"

namespace weir {
namespace {

// UTF-8 that XML may hold, each control character a space.
std::string legible(const std::string& text) {
  std::string out =
      Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  for (const char* no_character : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    boost::replace_all(out, no_character, "\xEF\xBF\xBD");
  return out;
}

}  // namespace

// Between double quotes a backslash takes another one, and a backtick, which would run a command, is a
// number; the string is cut after it, or digits that follow would belong to that. The markup's own escape
// stands before its characters. An ampersand is the script's variable `amp`, as SVG wants it as an entity.
std::string gnuplot_text(const std::string& text) {
  std::string out = "\"";
  char before = 0;
  for (const char c : legible(text)) {
    if (c == 'U' && before == '\\')
      out += "{U}";  // \U+221E would be a character by its number
    else if (c == '&')
      out += "\\\\\".amp.\"";
    else if (c == '`')
      out += "\\140\".\"";
    else if (c == '\\')
      out += "\\\\\\\\";
    else if (c == '"')
      out += "\\\"";
    else
      out += std::strchr("_^{}@~", c) ? std::string("\\\\") + c : std::string(1, c);
    before = c;
  }
  return out + "\"";
}

// "%%" would do, were it not that gnuplot cuts what it formats to 50 bytes. A number of five digits
// takes no more of what follows.
std::string gnuplot_tic(const std::string& text) {
  return boost::replace_all_copy(gnuplot_text(text), "%", "\\\\U+00025");
}

// Blanks between quotes are a field that gnuplot does not see.
std::string csv_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? '\'' : static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return out.find_first_not_of(' ', 1) == std::string::npos ? "\"\"" : out + "\"";
}

}  // namespace weir
