#pragma once
// The server of a recorded run as a scenario.
#include <filesystem>
#include <string>

#include "sim/core/params.h"
#include "sim/studies/validation/sessions/recorded.h"

namespace weir {

// "" if Weir has all that the run needs, else what it lacks, as a word of a row's id.
std::string missing_for(const RecordedRun& run);
// Plays that sessions file.
Json replay_scenario(const RecordedRun& run, const std::filesystem::path& sessions);

}  // namespace weir
