#pragma once
// Completion of weir's command line, made from the parser itself, so that no option is written down twice.
// The scripts beside this file ask for it at every <Tab>, as `weir __complete WORD...`.
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weir {

// "text" or "text<Tab>help"; ":files" and ":directories" ask the shell for its own. The last word is the one
// that is being typed.
std::vector<std::string> completions(const CLI::App& app, const std::vector<std::string>& words);

// The choices of an option whose type has them: "svg|pdf|png", or CLI11's "TEXT:{dual,single}".
std::vector<std::string> choices_of(const CLI::Option& option);

// The parser's help as roff, for man(1).
std::string man_page(const CLI::App& app);

}  // namespace weir
