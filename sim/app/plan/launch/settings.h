#pragma once
// A replica as any engine has to be told of it: the words of a resolved scenario as settings
// that the table of flags (engines.json) has rows for.
#include <string>
#include <vector>

#include "sim/app/plan/launch/engines.h"

namespace weir {

struct Setting {
  std::string name;  // as the table has it
  Json value;
  std::string words;  // as the scenario has it, for the comment of one without a flag
  Json of_all_ranks;  // its sum over attention-data ranks, each of which has the value for itself; or null
};

std::vector<Setting> settings_of(const Json& replica, const Json& precision, bool experts);

// The command of one replica with its settings.
struct EngineCommand {
  CommandWords words;
  Json config = Json::object();       // of its configuration file; {}: it needs none
  std::vector<std::string> comments;  // settings that there is no flag for
};
EngineCommand command_of(const LaunchEngine& engine, const std::vector<Setting>& settings);

}  // namespace weir
