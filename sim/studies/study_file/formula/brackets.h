#pragma once
// Text with brackets in it: ( [ {, each with its partner.
#include <string>
#include <vector>

namespace weir::study {

// The end of what begins at `open` with a bracket, behind its partner; npos where that is missing.
std::size_t behind_bracket(const std::string& text, std::size_t open);
std::string trimmed(const std::string& text);
// At commas outside of brackets.
std::vector<std::string> split(const std::string& text);

}  // namespace weir::study
