#pragma once
// The nets that Weir knows by name: files of models/nn/catalog, each with its source. Scenarios and listings
// ask here; nothing here knows of batches' times or of machines.
#include <string>
#include <utility>
#include <vector>

#include "models/nn/net.h"

namespace weir {

std::vector<std::string> net_names();

// Name and one line, in the order of the names.
std::vector<std::pair<std::string, std::string>> net_summaries();

// A catalog name, or the path of a file like the catalog's (it has a '/' or ends in .json; relative paths are
// relative to the file being read), or an object of its keys over a "base", a name or a path. Reports to
// `reading` at `pointer` and returns {} when it cannot.
Net read_net(const Json& given, Reading& reading, const std::string& pointer);

// Throws ConfigError for a name that the catalog lacks.
Net catalog_net(const std::string& name);

}  // namespace weir
