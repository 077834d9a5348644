#include "sim/app/shell/help.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "sim/app/wrap.h"

namespace weir {
namespace {

class FittingHelp : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool positional) const override {
    if (width() == unbounded) return CLI::Formatter::make_option(option, positional);
    return item(make_option_name(option, positional) + make_option_opts(option), make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* sub) const override {
    if (width() == unbounded) return CLI::Formatter::make_subcommand(sub);
    return item(sub->get_display_name(true), sub->get_description());
  }
  std::string make_description(const CLI::App* app) const override {
    return fitted(CLI::Formatter::make_description(app), width());
  }
  std::string make_footer(const CLI::App* app) const override {
    return fitted(CLI::Formatter::make_footer(app), width());
  }

 private:
  static std::size_t width() { return terminal_width(STDOUT_FILENO); }

  std::string item(std::string label, const std::string& text) const {
    const std::size_t label_width = get_column_width() - 4;
    std::string all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line) || !label.empty(); label.clear())
      all += entry(label, label_width, line, width());
    return all;
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> fitting_help() {
  return std::make_shared<FittingHelp>();
}

}  // namespace weir
