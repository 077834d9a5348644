#include "sim/core/errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <utility>

namespace weir {
namespace {

std::string listing(const std::string& file, const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& p : problems) {
    if (!text.empty()) text += '\n';
    text += file;
    if (!file.empty()) text += ": ";
    if (!p.pointer.empty()) text += shortened(p.pointer) + ": ";
    text += p.what;
  }
  // Characters of a file must not steer the terminal.
  std::replace_if(
      text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ' && c != '\n') || c == 0x7f; }, '?');
  return text;
}

std::string lower(std::string_view text) {
  std::string all(text);
  for (char& c : all) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return all;
}

// "meta-llama/Llama-3.1-8B-Instruct" is {llama, 3.1, 8b, instruct}: in lower case, without the organisation
// before a slash and the maker before a product.
std::vector<std::string> words_of(std::string_view name) {
  static constexpr std::array<std::string_view, 7> makers = {"nvidia", "geforce", "tesla", "amd",
                                                             "huawei", "google",  "meta"};
  name.remove_prefix(std::min(name.size(), name.rfind('/') + 1));  // npos + 1 is 0
  std::vector<std::string> words(1);
  for (const char c : lower(name))
    if (c == '-' || c == '_' || c == ' ')
      words.emplace_back();
    else
      words.back() += c;
  std::erase_if(words, [](const std::string& word) {
    return word.empty() || std::find(makers.begin(), makers.end(), word) != makers.end();
  });
  return words;
}

// Is one the other's words and no more, or more words behind them (-Instruct, -hf, -FP8; _sxm)? Then how much
// they have in common. llama-3.1-8b and llama3.1-8b are the same words.
std::size_t common_beginning(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto begins = [](const std::vector<std::string>& all, const std::vector<std::string>& part) {
    const std::string wanted = std::accumulate(part.begin(), part.end(), std::string());
    std::string joined;
    for (const std::string& word : all)
      if (!wanted.empty() && (joined += word) == wanted) return wanted.size();
    return std::size_t{0};
  };
  return std::max(begins(a, b), begins(b, a));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t next = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = std::exchange(row[j], next);
    }
  }
  return row[b.size()];
}

}  // namespace

ConfigError::ConfigError(std::string file, std::vector<Problem> problems, std::vector<std::string> notes)
    : std::runtime_error(listing(file, problems)),
      file_(std::move(file)),
      problems_(std::move(problems)),
      notes_(std::move(notes)) {}

ConfigError::ConfigError(std::string file, std::string pointer, std::string what)
    : ConfigError(std::move(file), {{std::move(pointer), std::move(what)}}) {}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::string nearest_name(std::string_view wanted, const std::vector<std::string>& known) {
  std::string nearest;
  if (wanted.empty() || wanted.size() > 200) return nearest;  // no name; costly to compare
  std::size_t best = std::min(std::max<std::size_t>(2, wanted.size() / 3), wanted.size() - 1) + 1;
  std::size_t most_common = 0;
  const std::string small = lower(wanted);
  const std::vector<std::string> words = words_of(wanted);
  for (const std::string& name : known) {
    // A name that only goes on, such as h100 for h100_sxm, is meant as often as a slip of the finger.
    const std::size_t common = wanted.size() < 3         ? 0
                               : name.starts_with(small) ? small.size()
                                                         : common_beginning(words_of(name), words);
    const std::size_t distance = common > 0 ? 1 : edit_distance(small, lower(name));
    if (distance < best || (distance == best && common > most_common)) {
      best = distance;
      most_common = common;
      nearest = name;
    }
  }
  return nearest;
}

std::string no_such(std::string_view what, std::string_view wanted, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(wanted, known);
  return fmt::format("no such {} (got \"{}\"{}, known: {})", what, shortened(wanted),
                     nearest.empty() ? "" : fmt::format(", did you mean \"{}\"?", nearest),
                     fmt::join(known, ", "));
}

}  // namespace weir
