#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "sim/app/shell/completion.h"

namespace weir {
namespace {

// A dash that can be copied, and no line that roff would take for a request.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool line_starts = out.empty() || out.back() == '\n';
    if (line_starts && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\n')
      out += "\n.br\n";
    else
      out += c;
  }
  return out;
}

std::string paragraph(const std::string& tag, const std::string& text) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}\n", tag, escaped(text));
}

// "N" of CLI11's "N:INT in [1 - 4096]".
std::string type_of(const CLI::Option& option) {
  const std::vector<std::string> choices = choices_of(option);
  if (!choices.empty()) return fmt::format("{}", fmt::join(choices, "|"));
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::string tag_of(const CLI::Option& option) {
  const std::string name = option.get_positional() ? option.get_single_name() : option.get_name(false, true);
  const bool has_value = !option.get_positional() && option.get_items_expected_max() > 0;
  return escaped(name) + (has_value ? fmt::format("\\fR \\fI{}", escaped(type_of(option))) : "");
}

void append_options(std::string& page, const CLI::App& app) {
  for (const bool positional : {true, false})
    for (const CLI::Option* option : app.get_options())
      if (option->get_positional() == positional && !(app.get_parent() && option == app.get_help_ptr()))
        page += paragraph(tag_of(*option), option->get_description());
}

std::string synopsis_of(const CLI::App& app) {
  std::string line = app.get_name();
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_single_name() + (option->get_items_expected_max() > 1 ? "..." : "");
    line += option->get_required() ? " " + name : " [" + name + "]";
  }
  return line + " [OPTIONS]";
}

}  // namespace

std::string man_page(const CLI::App& app) {
  std::string page = fmt::format(
      ".TH WEIR 1 \"\" \"weir {}\" \"User Commands\"\n"
      ".SH NAME\nweir \\- a simulator of datacenter LLM serving\n"
      ".SH SYNOPSIS\n\\fBweir\\fR COMMAND [ARGUMENTS]\n"
      ".SH DESCRIPTION\n{}\n",
      WEIR_VERSION, escaped(app.get_description()));
  append_options(page, app);
  page += ".SH COMMANDS\n";
  for (const CLI::App* sub : app.get_subcommands({})) {
    page += fmt::format(".SS weir {}\n{}\n", escaped(synopsis_of(*sub)), escaped(sub->get_description()));
    append_options(page, *sub);
  }
  if (!app.get_footer().empty()) page += ".SH EXIT STATUS\n" + escaped(app.get_footer()) + "\n";
  return page;
}

}  // namespace weir
