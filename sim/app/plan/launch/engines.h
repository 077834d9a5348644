#pragma once
// The engines that weir plan can start, and how each is told a setting: engines.json, read once.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/params.h"

namespace weir {

using CommandWords = std::vector<std::string>;

struct FlagRow {
  std::string setting;
  std::optional<CommandWords> words;                          // none: only `values` or `config` say it
  std::map<std::string, std::optional<CommandWords>> values;  // stand over these for some values
  Json config;                                                // null: none
  std::string source;
};

struct LaunchEngine {
  std::string kind, name, version, source, image, config_flag;
  CommandWords command;
  struct SeveralNodes {  // of one replica
    CommandWords words;
    std::string before, others;  // on the first; instead of the command on the others, or ""
  } several_nodes;
  struct Apart {
    std::map<std::string, std::string> environment;
    std::string front;
  } apart;
  std::vector<FlagRow> flags;

  const FlagRow* row(const std::string& setting) const;
};

const std::vector<LaunchEngine>& launch_engines();
const LaunchEngine* launch_engine(const std::string& kind);  // null: nothing that can be started

}  // namespace weir
