// weir list: what a scenario may name, and what a run gives. The rooms' own tables feed it, and the schema
// says which keys a name takes.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "sim/app/command_line.h"
#include "sim/app/key_help.h"
#include "sim/app/list/subjects.h"
#include "sim/app/wrap.h"
#include "sim/core/embedded.h"
#include "sim/plan/plan.h"

namespace weir {

namespace {

bool takes(const Json& schema, const std::string& name) {
  const Json names = schema.value("enum", Json::array());
  return schema.value("const", "") == name || std::find(names.begin(), names.end(), name) != names.end();
}

// The object that the name is written in, with its keys: an alternative of a tagged union under the key
// `family`, or whatever has that key or `kind` among its own, wherever it stands.
Json object_of(const Json& schema, const ListEntry& entry) {
  const Json properties = schema.is_object() ? schema.value("properties", Json::object()) : Json::object();
  if (const auto at = properties.find(entry.family); at != properties.end()) {
    if (takes(*at, entry.name)) return schema;
    const Json& one = at->contains("items") ? (*at)["items"] : *at;
    for (const Json& kind : one.value("oneOf", Json::array({one})))
      if (takes(kind.value(Json::json_pointer("/properties/kind"), Json::object()), entry.name)) return kind;
  }
  if (schema.is_structured())
    for (const Json& below : schema)
      if (Json found = object_of(below, entry); !found.empty()) return found;
  return Json::object();
}

Json as_json(const ListEntry& entry) {
  return {{"family", entry.family}, {"name", entry.name}, {"summary", entry.summary}};
}

void print(const std::vector<ListEntry>& entries) {
  const std::size_t columns = terminal_width(STDOUT_FILENO);
  std::size_t width = 0;
  for (const ListEntry& e : entries) width = std::max(width, e.name.size());
  std::string family;
  for (const ListEntry& e : entries) {
    if (e.family != family)
      fmt::print("{}{}", family.empty() ? "" : "\n",
                 fitted(fmt::format("{} ({}):\n", e.family, place_of(e.family)), columns));
    family = e.family;
    fmt::print("{}", entry(e.name, width, e.summary, columns));
  }
}

// Details of a name: its catalog file and the keys it takes.
Json details(const ListSubject& subject, const ListEntry& entry) {
  Json all = as_json(entry);
  if (subject.catalog && (!subject.in_catalog || subject.in_catalog == entry.family))
    if (const auto text = text_of(*subject.catalog, entry.name))
      all["catalog"] = embedded_json(*text, entry.name);
  const Json object = object_of(scenario_schema(), entry);
  all["keys"] = object.value("properties", Json::object());
  all["required"] = object.value("required", Json::array());
  return all;
}

// One line of it; a hundred quantiles are for programs (--json).
std::string shown(const Json& value) {
  constexpr std::size_t longest = 100;
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  return text.size() <= longest || value.is_string() ? text : text.substr(0, longest - 3) + "...";
}

void print_one(const Json& details) {
  const std::string family = details["family"].get<std::string>();
  const std::size_t width = terminal_width(STDOUT_FILENO);
  fmt::print("{}", fitted(fmt::format("{} ({})\n  {}\n", details["name"].get<std::string>(), place_of(family),
                                      details["summary"].get<std::string>()),
                          width));
  const Json catalog = details.value("catalog", Json::object()),
             sources = catalog.value("sources", Json::object());
  for (const auto& [key, value] : catalog.items())
    if (key != "sources" && key != "summary" && key != "title")
      fmt::print("{}",
                 entry(fmt::format("{:<26} {:<9}", key, shown(value)), 36, sources.value(key, ""), width));
  fmt::print("{}", key_help({{"properties", details["keys"]}, {"required", details["required"]}}, width));
}

int list(const std::string& subject, const std::string& name, bool json) {
  const auto row =
      std::ranges::find_if(list_subjects(), [&](const ListSubject& s) { return s.name == subject; });
  if (row == list_subjects().end()) {
    std::vector<std::string> known;
    for (const ListSubject& s : list_subjects()) known.emplace_back(s.name);
    throw ConfigError("weir list", "",
                      subject.empty() ? fmt::format("of what? {}", fmt::join(known, ", "))
                                      : no_such("subject", subject, known));
  }
  const std::vector<ListEntry> entries = row->entries();
  if (name.empty() && !json) print(entries);
  if (!name.empty() &&
      std::none_of(entries.begin(), entries.end(), [&](const ListEntry& e) { return e.name == name; }))
    throw ConfigError("weir list " + subject, "", no_such("name", name, names_of(entries)));
  Json all = Json::array();
  for (const ListEntry& entry : entries)
    if (name.empty())
      all.push_back(as_json(entry));
    else if (entry.name == name)  // gamma is a law of lengths and one of arrivals
      all.push_back(details(*row, entry));
  if (json) fmt::print("{}\n", all.dump(2));
  if (!json && !name.empty())
    for (const Json& one : all) print_one(one);
  return exit_done;
}

}  // namespace

std::vector<std::string> list_values(const std::string& argument, const std::vector<std::string>& before) {
  if (argument != "NAME" || before.empty()) return {};
  for (const ListSubject& subject : list_subjects())
    if (subject.name == before[0]) return names_of(subject.entries());
  return {};
}

std::function<int()> declare_list(CLI::App& app) {
  struct Arguments {
    std::string subject, name;
    bool json = false;
  };
  const auto a = std::make_shared<Arguments>();
  std::string known;
  for (const ListSubject& s : list_subjects()) known += (known.empty() ? "" : "|") + std::string(s.name);
  app.add_option("SUBJECT", a->subject, "what to list")->type_name(known);
  app.add_option("NAME", a->name, "one of them, with its keys");
  app.add_flag("--json", a->json, "for programs");
  return [a] { return list(a->subject, a->name, a->json); };
}

}  // namespace weir
