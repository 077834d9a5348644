#pragma once
// How wide a text is on a terminal, and how it is broken where the terminal is narrower. Into files and pipes
// nothing is broken: programs read lines, and people search them.
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace weir {

inline constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

// Whether somebody reads there. mpirun gives its ranks terminals of its own, whatever it passes their lines
// on to: none.
bool is_terminal(int descriptor);

// Columns of the terminal behind a descriptor; COLUMNS or 80 where it does not say; unbounded if it is none.
std::size_t terminal_width(int descriptor);

std::size_t columns_of(const std::string& text);  // "±" is two bytes and one column, colours are none

// Lines of at most so many columns: broken at spaces, and in words that are longer than a line after a / or
// another mark, or anywhere.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);

// The columns below which a cell's text would be broken inside a word, and inside a word's parts.
struct LongestPieces {
  std::size_t word = 0, part = 0;
};
LongestPieces longest_pieces(const std::string& text);

inline constexpr std::size_t entry_label = 25;  // as wide as most keys of a scenario

// "  label    text", where the text starts after `label_width` columns and goes on below itself.
std::string entry(const std::string& label, std::size_t label_width, const std::string& text,
                  std::size_t width);

// Lines that are too long go on below themselves, two columns further in.
std::string fitted(const std::string& text, std::size_t width);

}  // namespace weir
