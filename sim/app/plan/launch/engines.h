#pragma once
// The engines that weir plan can start, and how each is told a setting: engines.json, read once.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/params.h"

namespace weir {

using CommandWords = std::vector<std::string>;

struct Saying {
  CommandWords words;
  Json config;  // keys of the configuration file; null: none
};

struct FlagRow {
  std::string setting;
  std::optional<Saying> any;                            // none: only some values can be said
  std::map<std::string, std::optional<Saying>> values;  // stand over it for some values
  std::string source;
};

struct LaunchEngine {
  std::string kind, name, version, source, image, config_flag;  // {version} in the image: its tag
  CommandWords command;
  struct SeveralNodes {  // of one replica
    CommandWords words;
    std::string before, others;  // on the first; instead of the command on the others, or ""
  } several_nodes;
  struct RanksOnNodes {          // of one replica, whose attention-data ranks each are within a node
    CommandWords words, others;  // on each; on all but the first as well
  };
  std::optional<RanksOnNodes> ranks_on_nodes;  // none: as several_nodes
  struct Apart {
    std::map<std::string, std::string> environment;  // {side_port}, {host}: this machine's address
    std::string front;
  } apart;
  std::vector<FlagRow> flags;

  const FlagRow* row(const std::string& setting) const;
  std::optional<Saying> saying(const std::string& setting, const std::string& value) const;
};

const std::vector<LaunchEngine>& launch_engines();
// With the image of that version; its flags are those of LaunchEngine::version. Nothing: it cannot be
// started.
std::optional<LaunchEngine> launch_engine(const std::string& kind, const std::string& version);

}  // namespace weir
