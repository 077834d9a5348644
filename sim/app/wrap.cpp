#include "sim/app/wrap.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace weir {
namespace {

constexpr std::size_t usual_width = 80, least_width = 20;

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t from = 0; (from = text.find_first_not_of(' ', from)) != std::string::npos;) {
    const std::size_t end = std::min(text.find(' ', from), text.size());
    words.push_back(text.substr(from, end - from));
    from = end;
  }
  return words;
}

bool starts_character(char c) {
  return (c & 0xC0) != 0x80;
}

// Behind which of its bytes may a word be broken? Not inside numbers: 1,234 and 1e-5.
std::vector<std::string> parts_of(const std::string& word) {
  constexpr std::string_view anywhere = "/_=&?;|", between_letters = ",.-:";
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < word.size(); ++i) {
    parts.back() += word[i];
    if (i + 1 == word.size()) break;
    const bool digit_next = std::isdigit(static_cast<unsigned char>(word[i + 1])) != 0;
    if (anywhere.find(word[i]) != std::string_view::npos ||
        (between_letters.find(word[i]) != std::string_view::npos && !digit_next))
      parts.emplace_back();
  }
  return parts;
}

// Takes what fits in so many columns off its front, one character at least.
std::string cut_front(std::string& text, std::size_t columns) {
  std::size_t end = 0, taken = 0;
  while (end < text.size() && (taken < std::max<std::size_t>(1, columns) || !starts_character(text[end])))
    taken += starts_character(text[end++]);
  std::string front = text.substr(0, end);
  text.erase(0, end);
  return front;
}

class Lines {
 public:
  explicit Lines(std::size_t width) : width_(width) {}

  void add(const std::string& word) {
    if (!lines_.back().empty() && room() > columns_of(word)) {
      lines_.back() += " " + word;
      return;
    }
    if (columns_of(word) <= width_) {
      if (!lines_.back().empty()) lines_.emplace_back();
      lines_.back() = word;
      return;
    }
    if (!lines_.back().empty()) lines_.back() += " ";
    for (std::string part : parts_of(word)) add_part(part);
  }

  std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::size_t room() const { return width_ - std::min(width_, columns_of(lines_.back())); }

  void add_part(std::string part) {
    if (columns_of(part) > room() && !lines_.back().empty()) {
      while (lines_.back().ends_with(' ')) lines_.back().pop_back();
      lines_.emplace_back();
    }
    for (; columns_of(part) > width_; lines_.emplace_back()) lines_.back() = cut_front(part, width_);
    lines_.back() += part;
  }

  std::size_t width_;
  std::vector<std::string> lines_{1};
};

}  // namespace

bool is_terminal(int descriptor) {
  return ::isatty(descriptor) != 0 && !std::getenv("OMPI_COMM_WORLD_SIZE");
}

std::size_t terminal_width(int descriptor) {
  if (!is_terminal(descriptor)) return unbounded;
  std::size_t columns = 0;
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  if (const char* variable = std::getenv("COLUMNS"); columns == 0 && variable)
    std::from_chars(variable, variable + std::strlen(variable), columns);
  return columns == 0 ? usual_width : std::max(columns, least_width);
}

std::size_t columns_of(const std::string& text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\033')
      i = std::min(text.find('m', i), text.size());
    else
      columns += starts_character(text[i]);
  return columns;
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  if (columns_of(text) <= width) return {text};
  Lines lines(width);
  for (const std::string& word : words_of(text)) lines.add(word);
  return lines.take();
}

LongestPieces longest_pieces(const std::string& text) {
  LongestPieces longest;
  for (const std::string& word : words_of(text)) {
    longest.word = std::max(longest.word, columns_of(word));
    for (const std::string& part : parts_of(word)) longest.part = std::max(longest.part, columns_of(part));
  }
  return longest;
}

std::string entry(const std::string& label, std::size_t label_width, const std::string& text,
                  std::size_t width) {
  const std::string name = fmt::format("  {:<{}}  ", label, label_width);
  if (text.empty()) return fitted("  " + label.substr(0, label.find_last_not_of(' ') + 1) + "\n", width);
  if (width == unbounded || columns_of(name) + columns_of(text) <= width) return name + text + "\n";
  // Beside a label that leaves less than a third of the line nothing is readable.
  const std::size_t indent = std::min(label_width + 4, width * 2 / 3);
  const std::string margin(indent, ' ');
  std::string all;
  if (columns_of(name) > indent)
    for (const std::string& line : wrapped(label, width - 2)) all += "  " + line + "\n";
  for (const std::string& line : wrapped(text, width - indent))
    all += (all.empty() ? name : margin) + line + "\n";
  return all;
}

std::string fitted(const std::string& text, std::size_t width) {
  std::string all;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string line = text.substr(from, end - from);
    from = end + 1;
    if (columns_of(line) <= width) {
      all += line + (end < text.size() ? "\n" : "");
      continue;
    }
    const std::size_t indent = std::min(line.find_first_not_of(' '), width / 2);
    std::string margin(indent, ' ');
    std::string rest = line.substr(indent);
    const std::vector<std::string> lines = wrapped(rest, width - indent - 2);
    for (const std::string& part : lines) {
      all += margin + part + "\n";
      if (margin.size() == indent) margin += "  ";
    }
  }
  return all;
}

}  // namespace weir
