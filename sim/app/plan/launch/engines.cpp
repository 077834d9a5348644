#include "sim/app/plan/launch/engines.h"

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>

#include "sim/core/embedded.h"

namespace weir {

extern const EmbeddedFiles launch_files;

namespace {

CommandWords words_in(const Json& list) {
  return list.get<CommandWords>();
}

// A list is words of the command line, an object keys of the configuration file.
std::optional<Saying> saying_in(const Json& value) {
  if (value.is_null()) return std::nullopt;
  if (value.is_object()) return Saying{{}, value};
  return Saying{words_in(value), nullptr};
}

// Words as lists, objects as they are: what is wrong with the table throws, and a test reads it.
FlagRow read_row(Params& row) {
  FlagRow flag;
  flag.setting = row.text({"setting", "As launch/settings.h names it."});
  if (const Json* words = row.value({"words", "Of the command line."}, {}, Json(nullptr));
      words && !words->is_null())
    flag.any = saying_in(*words);
  if (const Json* values = row.value({"values", "Words for some values."}, {}, Json(nullptr)))
    for (const auto& [value, words] : values->items()) flag.values[value] = saying_in(words);
  if (const Json* config = row.value({"config", "Keys of the configuration file."}, {}, Json(nullptr));
      config && !config->is_null())
    flag.any = Saying{flag.any ? flag.any->words : CommandWords{}, *config};
  flag.source = row.text({"source", "Who says so; \"\": the engine's."}, "");
  row.close();
  return flag;
}

LaunchEngine read_launch_engine(Params& params) {
  LaunchEngine engine;
  engine.kind = params.text({"kind", "engine.kind of a scenario."});
  engine.name = params.text({"name", "For people."});
  engine.version = params.text({"version", "Whose flags these are."});
  engine.source = params.text({"source", "Who says so."});
  engine.image = params.text({"image", "Container."});
  engine.config_flag = params.text({"config_flag", "Names the configuration file."}, "");
  engine.command = words_in(*params.value({"command", "Without a setting."}, {}));
  Params several = params.object({"several_nodes", "Of one replica."}, Params::Presence::required);
  several.text({"source", "Who says so."});
  engine.several_nodes = {words_in(*several.value({"words", "Added."}, {})),
                          several.text({"before", "On the first node."}),
                          several.text({"others", "On the others."})};
  several.close();
  if (params.has("ranks_on_nodes")) {
    Params ranks = params.object({"ranks_on_nodes", "Attention-data ranks within nodes."});
    ranks.text({"source", "Who says so."});
    engine.ranks_on_nodes = {words_in(*ranks.value({"words", "On each node."}, {})),
                             words_in(*ranks.value({"others", "On all but the first."}, {}))};
    ranks.close();
  }
  Params apart = params.object({"apart", "Prompts and generation apart."}, Params::Presence::required);
  apart.text({"source", "Who says so."});
  engine.apart.environment =
      apart.value({"environment", "Of each."}, {})->get<std::map<std::string, std::string>>();
  engine.apart.front = apart.text({"front", "What clients talk to."});
  apart.close();
  for (Params& row : params.list({"flags", "One a setting."}, 1)) engine.flags.push_back(read_row(row));
  params.close();
  return engine;
}

std::vector<LaunchEngine> read_launch_engines() {
  const Json& document = embedded_json(*text_of(launch_files, "engines"), "engines.json");
  Reading reading("sim/app/plan/launch/engines.json");
  Params table(reading, document);
  std::vector<LaunchEngine> engines;
  for (Params& engine : table.list({"engines", "One a kind."}, 1))
    engines.push_back(read_launch_engine(engine));
  table.close();
  reading.finish();
  return engines;
}

// Tags of images have three numbers. Of two the release is meant whose flags were read, or the first.
std::string tag_of(const std::string& version, const std::string& of_flags) {
  if (std::ranges::count(version, '.') != 1) return version;
  return of_flags.starts_with(version + ".") ? of_flags : version + ".0";
}

}  // namespace

const FlagRow* LaunchEngine::row(const std::string& setting) const {
  const auto found = std::ranges::find(flags, setting, &FlagRow::setting);
  return found == flags.end() ? nullptr : &*found;
}

std::optional<Saying> LaunchEngine::saying(const std::string& setting, const std::string& value) const {
  const FlagRow* found = row(setting);
  if (!found) return std::nullopt;
  const auto own = found->values.find(value);
  return own == found->values.end() ? found->any : own->second;
}

const std::vector<LaunchEngine>& launch_engines() {
  static const std::vector<LaunchEngine> table = read_launch_engines();
  return table;
}

std::optional<LaunchEngine> launch_engine(const std::string& kind, const std::string& version) {
  const auto found = std::ranges::find(launch_engines(), kind, &LaunchEngine::kind);
  if (found == launch_engines().end()) return std::nullopt;
  LaunchEngine engine = *found;
  boost::replace_all(engine.image, "{version}", tag_of(version, engine.version));
  return engine;
}

}  // namespace weir
