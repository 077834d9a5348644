#pragma once
// Runs `weir` with a terminal of so many columns on its standard streams, as a user sees it.
#include <functional>
#include <string>
#include <vector>

#include "test/app/run_weir.h"

namespace weir::test {

struct Shown {
  int code = 0;
  std::string text;  // as it was sent, with carriage returns and escape sequences
};

// `until`: once what was shown so far makes it true, weir is sent SIGINT.
Shown run_on_terminal(
    std::vector<std::string> arguments, unsigned short columns, const HowToRun& how = {},
    const std::function<bool(const std::string&)>& until = [](const std::string&) { return false; });

// Columns of the widest line that stood on the terminal, drawn-over ones included.
std::size_t widest(const std::string& shown);

}  // namespace weir::test
