// weir check: is this file right? Every problem is listed, nothing runs. `--schema` prints what editors can
// check by.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "sim/app/command_line.h"
#include "sim/engine/scenario.h"

namespace weir {
namespace {

int check(const std::string& file) {
  const Scenario scenario = read_scenario(read_json_file(file), file);
  for (const std::string& note : scenario.notes) fmt::print(stderr, "note: {}\n", note);
  int replicas = 0;
  for (const ReplicaSpec& spec : scenario.replicas) replicas += spec.count;
  fmt::print("{}: ok ({}, {} replica{}, {} requests)\n", file, scenario.model.name, replicas,
             replicas == 1 ? "" : "s", scenario.workload.requests.size());
  return exit_done;
}

}  // namespace

std::function<int()> declare_check(CLI::App& app) {
  const auto file = std::make_shared<std::string>();
  const auto schema = std::make_shared<bool>();
  const auto positional = app.add_option("FILE", *file, "a scenario");
  const auto flag =
      app.add_flag("--schema", *schema, "print the JSON Schema of a scenario instead, for editors");
  positional->excludes(flag);
  return [file, schema] {
    if (*schema) {
      fmt::print("{}\n", scenario_schema().dump(2));
      return static_cast<int>(exit_done);
    }
    if (file->empty()) throw ConfigError("weir check", "", "expected a FILE, or --schema");
    return check(*file);
  };
}

}  // namespace weir
