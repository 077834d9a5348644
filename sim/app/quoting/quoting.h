#pragma once
// Text that is not Weir's own, where a shell or a YAML parser reads it: one function each, and one for
// comments of both. HTML's and JSON's in it are in sim/app/report/embedded_page.h, gnuplot's in
// sim/app/output/gnuplot.h; SQL takes values by Statement::bind() alone.
#include <cstddef>
#include <string>

namespace weir {

// One word of a POSIX shell, whose value is the text: in single quotes unless it is plain.
std::string shell_word(const std::string& text);

// A scalar of YAML 1.1 and 1.2 on one line, in double quotes: bytes that are no UTF-8 become U+FFFD.
std::string yaml_scalar(const std::string& text);
// The same below a key, each line `columns` in: a literal block ("|" and its lines) where YAML has one for
// this text.
std::string yaml_block(const std::string& text, std::size_t columns);

// The text made fit to stand behind the # of a comment of either: characters that would end the line, or
// show it otherwise than it is, are escaped.
std::string comment_text(const std::string& text);

}  // namespace weir
