// Texts that a user may give a model, a key or a file, and that CSV, JSON, SVG, HTML, gnuplot or a shell
// would read as something else.
#pragma once

#include <string>
#include <vector>

namespace weir::test {

using Texts = std::vector<std::string>;
Texts hostile_texts();

}  // namespace weir::test
