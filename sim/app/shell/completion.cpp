#include "sim/app/shell/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "sim/app/command_line.h"

namespace weir {
namespace {

using Words = std::vector<std::string>;

Words split(const std::string& text, char separator) {
  Words parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(separator, from), text.size());
    parts.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return parts;
}

Words values_of(const CLI::App& app, const CLI::Option& option, const Words& before) {
  const std::string name = option.get_single_name();
  for (const Command& command : commands())
    if (command.name == app.get_name() && command.values)
      if (const Words values = command.values(name, before); !values.empty()) return values;
  if (const Words choices = choices_of(option); !choices.empty()) return choices;
  const std::string type = option.get_type_name();
  if (type == "DIR" || name == "DIR") return {":directories"};
  if (option.get_positional() || type == "FILE") return {":files"};
  return {};
}

Words options_of(const CLI::App& app) {
  Words names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name + "\t" + split(option->get_description(), '\n')[0]);
  return names;
}

// The words that can stand in the place of the last one.
Words candidates(const CLI::App& app, const Words& words) {
  const CLI::Option* open = nullptr;  // an option whose value is next
  Words before;                       // positional ones
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool value = open != nullptr;
    open = nullptr;
    if (value) continue;
    if (words[i].size() < 2 || words[i][0] != '-') {
      before.push_back(words[i]);
      continue;
    }
    open = app.get_option_no_throw(words[i]);
    if (open && open->get_items_expected_max() == 0) open = nullptr;
  }
  if (open) return values_of(app, *open, before);
  if (words.back().starts_with('-')) return options_of(app);
  const auto positionals =
      app.get_options([](const CLI::Option* option) { return option->get_positional(); });
  if (positionals.empty()) return {};
  const CLI::Option& last = *positionals.back();
  if (before.size() < positionals.size()) return values_of(app, *positionals[before.size()], before);
  return last.get_items_expected_max() > 1 ? values_of(app, last, before) : Words();
}

}  // namespace

Words choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{'), close = type.find('}');
  if (open != std::string::npos && close != std::string::npos)
    return split(type.substr(open + 1, close - open - 1), ',');
  return type.find('|') != std::string::npos ? split(type, '|') : Words();
}

Words completions(const CLI::App& app, const Words& words) {
  Words all;
  if (words.size() > 1) {
    const auto found = app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == words[0]; });
    if (!found.empty()) all = candidates(*found[0], Words(words.begin() + 1, words.end()));
  } else if (!words.empty()) {
    if (words[0].starts_with('-')) all = options_of(app);
    for (const CLI::App* sub : app.get_subcommands({}))
      all.push_back(sub->get_name() + "\t" + sub->get_description());
  }
  if (!words.empty())
    std::erase_if(all, [&](const std::string& text) {
      return !text.starts_with(':') && !text.starts_with(words.back());
    });
  return all;
}

}  // namespace weir
