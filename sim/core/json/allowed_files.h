#pragma once
// A process may read for somebody who may not choose files, such as the page of `weir explore`, which sends
// values for a scenario. The readers of params.h are then held to the files that the scenario itself named.
#include <filesystem>
#include <set>

namespace weir {

// From here on this process reads these, and what lies in folders among them, by the names they are given
// here. For processes that end soon: nobody takes it back.
void allow_only(const std::set<std::filesystem::path>& files);

// Throws ConfigError of any other, without a look at whether it exists.
void require_allowed(const std::filesystem::path& path);

}  // namespace weir
