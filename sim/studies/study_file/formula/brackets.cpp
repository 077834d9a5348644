#include "sim/studies/study_file/formula/brackets.h"

#include <algorithm>
#include <string_view>

namespace weir::study {

std::size_t behind_bracket(const std::string& text, std::size_t open) {
  std::string expected;
  for (std::size_t i = open; i < text.size(); ++i) {
    const auto kind = std::string_view("([{").find(text[i]);
    if (kind != std::string_view::npos)
      expected += ")]}"[kind];
    else if (std::string_view(")]}").find(text[i]) != std::string_view::npos) {
      if (expected.empty() || expected.back() != text[i]) return std::string::npos;
      expected.pop_back();
      if (expected.empty()) return i + 1;
    }
  }
  return std::string::npos;
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::string_view("([{").find(text[i]) != std::string_view::npos) {
      const std::size_t end = std::min(behind_bracket(text, i), text.size());
      parts.back() += text.substr(i, end - i);
      i = end - 1;
    } else if (text[i] == ',') {
      parts.emplace_back();
    } else {
      parts.back() += text[i];
    }
  }
  return parts;
}

}  // namespace weir::study
