// weir completion: the script that a shell reads once; it asks `weir __complete` what may follow.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "sim/app/command_line.h"
#include "sim/core/catalog.h"
#include "sim/core/embedded.h"
#include "sim/core/errors.h"

namespace weir {

extern const EmbeddedFiles completion_scripts;

std::function<int()> declare_completion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash: source <(weir completion bash); zsh and fish alike")
      ->type_name("bash|zsh|fish")
      ->required();
  return [shell] {
    const auto script = text_of(completion_scripts, "weir." + *shell);
    if (!script) throw ConfigError("weir completion", "", no_such("shell", *shell, {"bash", "zsh", "fish"}));
    fmt::print("{}", *script);
    return static_cast<int>(exit_done);
  };
}

}  // namespace weir
