#pragma once
// Names of varied keys for people: the end of each JSON pointer, as long as it must be to differ from the
// others and to say something by itself ("tensor", but "replicas/count"). Indices of lists are left out
// where they do not tell two keys apart.
#include <string>
#include <vector>

namespace weir {

std::vector<std::string> short_names(const std::vector<std::string>& pointers);

}  // namespace weir
