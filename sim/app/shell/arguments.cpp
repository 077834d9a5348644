#include "sim/app/shell/arguments.h"

#include <fmt/format.h>

#include <charconv>

#include "sim/core/errors.h"

namespace weir {

CLI::Validator whole_number(std::int64_t min, std::int64_t max) {
  const auto wrong = [min, max](const std::string& text) -> std::string {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    const bool plain = error == std::errc() && at == end && fmt::format("{}", value) == text;
    return plain && value >= min && value <= max
               ? ""
               : fmt::format("expected an integer >= {} and <= {}, got {}", min, max, shortened(text, 60));
  };
  return CLI::Validator(wrong, "");
}

void refuse_empty(CLI::App& command) {
  for (CLI::Option* option : command.get_options())
    if (option->get_items_expected_max() > 0)
      option->check(CLI::Validator(
          [](const std::string& text) { return text.empty() ? "expected a value, got nothing" : ""; }, ""));
}

void refuse_unknown_options(const CLI::App& command, const std::vector<std::string>& words) {
  const CLI::Option* open = nullptr;  // whose value is next
  for (const std::string& word : words) {
    if (word == "--") return;
    const bool option = word.size() > 1 && word[0] == '-';
    const CLI::Option* const before = std::exchange(open, nullptr);
    if (!option || (before && before->get_items_expected_min() > 0)) continue;
    const std::string name = word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
    const CLI::Option* const found = command.get_option_no_throw(name);
    if (!found) {
      std::vector<std::string> known;
      for (const CLI::Option* one : command.get_options())
        for (const std::string& long_name : one->get_lnames()) known.push_back("--" + long_name);
      throw ConfigError("weir " + command.get_name(), "", no_such("option", name, known));
    }
    if (found->get_items_expected_max() > 0 && name == word) open = found;
  }
}

}  // namespace weir
