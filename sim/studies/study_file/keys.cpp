#include "sim/studies/study_file/keys.h"

#include <fmt/format.h>

#include "sim/app/sweep/axes/axis_values.h"
#include "sim/app/sweep/validator.h"
#include "sim/studies/study_file/study_file.h"

namespace weir::study {
namespace {

// An object of names, each with a value that read(name, value, where it stands) takes.
template <class Read>
void read_named(Params& params, Key key, const Json& each_schema, const Read& read) {
  const Json* given = params.value(key,
                                   {{"type", "object"},
                                    {"propertyNames", {{"pattern", "^[a-z][a-z0-9_]*$"}}},
                                    {"additionalProperties", each_schema}},
                                   Json::object());
  if (!given) return;
  if (!given->is_object()) return params.fail(key.name, "expected an object of names");
  for (const auto& [name, value] : given->items())
    read(name, value, "/" + std::string(key.name) + "/" + escaped(name));
}

template <class Keys>
Json schema_of() {
  Reading reading = Reading::describe();
  const Json nothing = Json::object();
  Params params(reading, nothing);
  Keys::from(params);
  params.close();
  return reading.schema;
}

void read_scenario(Params& params, StudyKeys& keys) {
  Reading& reading = params.reading();
  keys.scenario_file = reading.file();
  keys.scenario = Json::object();
  const Json* given = params.value({"scenario",
                                    "What cases change: the name of a scenario file (relative to this "
                                    "one), or the scenario."},
                                   {{"type", {"string", "object"}}}, Json::object());
  if (!given) return;
  if (given->is_object()) {
    keys.scenario = *given;
  } else if (!given->is_string() || !no_path(given->get<std::string>()).empty()) {
    params.fail("scenario", "expected a file name or an object, got " + dumped(*given).substr(0, 60));
  } else {
    keys.scenario_file = reading.relative(given->get<std::string>());
    try {
      keys.scenario = read_json_file(keys.scenario_file);
      if (!keys.scenario.is_object()) params.fail("scenario", "expected an object in the file");
    } catch (const ConfigError& e) {
      params.fail("scenario", e.what());
    }
  }
}

void read_sets(Params& params, StudyKeys& keys) {
  keys.sets = {Json::object()};
  auto sets =
      params.object_or_null({"sets", "Settings of the columns of a row; null: one column, as cases are."});
  if (!sets) return;
  keys.sets.clear();
  for (const char* name : set_names) {
    const Json* given = sets->value({name, "Settings of this column, over all others."}, settings_schema());
    keys.sets.push_back(given && is_settings(*given) ? *given : Json::object());
    if (given && !is_settings(*given)) sets->fail(name, "expected an object of JSON pointers and values");
  }
  sets->close();
}

void read_cases(Params& params, StudyKeys& keys) {
  Reading& reading = params.reading();
  read_named(params, {"cases", "What is run or probed, by names."}, schema_of<CaseText>(),
             [&](const std::string& name, const Json& given, const std::string& at) {
               if (!is_name(name))
                 return reading.problem(at, "expected a name of small letters, digits and _");
               Reading part(reading.file());
               Params own(part, given);
               keys.cases.emplace_back(name, CaseText::from(own));
               own.close();
               try {
                 part.finish();
               } catch (const ConfigError& e) {
                 for (const Problem& p : e.problems()) reading.problem(at + p.pointer, p.what);
               }
             });
}

}  // namespace

StudyKeys StudyKeys::from(Params& params) {
  StudyKeys keys;
  keys.title = params.text({"title", "What is reproduced, in a line."});
  keys.source = params.text({"source", "Where the published values are from, for readers of this file."}, "");
  read_scenario(params, keys);
  read_sets(params, keys);
  read_named(params, {"overlays", "Settings by names, that cases apply: systems, policies, workloads."},
             settings_schema(), [&](const std::string& name, const Json& given, const std::string& at) {
               if (is_settings(given))
                 keys.overlays[name] = given;
               else
                 params.reading().problem(at, "expected an object of JSON pointers and values");
             });
  const Json* axes = params.value({"axes",
                                   "What varies, by names: a list of numbers, texts or records, or a range "
                                   "as in a sweep."},
                                  axes_schema(), Json::object());
  keys.axes = axes ? *axes : Json::object();
  read_cases(params, keys);
  const Json* lets =
      params.value({"let", "Formulas by names; each may name those before it."},
                   {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}}, Json::object());
  keys.lets = lets && lets->is_object() ? *lets : Json::object();
  if (lets && !lets->is_object()) params.fail("let", "expected an object of names and formulas");
  for (Params& part : params.list({"parts", "What runs together."}, 1))
    keys.parts.push_back(read_params<PartText>(part));
  for (Params& figure : params.list({"figures", "Drawn with --figures."}, 0, Params::Presence::optional))
    keys.figures.push_back(read_params<FigureText>(figure));
  return keys;
}

Json schema() {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "A study that weir reproduce runs"}};
  schema.update(schema_of<StudyKeys>());
  return schema;
}

}  // namespace weir::study
