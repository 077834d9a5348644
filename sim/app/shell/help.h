#pragma once
// `--help` on a terminal that is narrower than CLI11's lines.
#include <memory>

namespace CLI {
class FormatterBase;
}

namespace weir {

std::shared_ptr<CLI::FormatterBase> fitting_help();

}  // namespace weir
