#include "sim/core/errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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
    if (!p.pointer.empty()) text += p.pointer + ": ";
    text += p.what;
  }
  // What a file holds must not steer the terminal.
  std::replace_if(
      text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ' && c != '\n') || c == 0x7f; }, '?');
  return text;
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

ConfigError::ConfigError(std::string file, std::vector<Problem> problems)
    : std::runtime_error(listing(file, problems)), file_(std::move(file)), problems_(std::move(problems)) {}

ConfigError::ConfigError(std::string file, std::string pointer, std::string what)
    : ConfigError(std::move(file), {{std::move(pointer), std::move(what)}}) {}

std::string nearest_name(std::string_view wanted, const std::vector<std::string>& known) {
  std::string nearest;
  std::size_t best = std::max<std::size_t>(2, wanted.size() / 3) + 1;
  for (const std::string& name : known) {
    // A name that only goes on, such as h100 for h100_sxm, is meant as often as a slip of the finger.
    const bool begins = wanted.size() >= 3 && name.starts_with(wanted);
    const std::size_t distance = begins ? 1 : edit_distance(wanted, name);
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::string no_such(std::string_view what, std::string_view wanted, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(wanted, known);
  return fmt::format("no such {} (got \"{}\"{}, known: {})", what, wanted,
                     nearest.empty() ? "" : fmt::format(", did you mean \"{}\"?", nearest),
                     fmt::join(known, ", "));
}

}  // namespace weir
