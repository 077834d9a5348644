#pragma once
// A family of things that a scenario chooses by `kind`: an explicit table from the name to the function that
// builds it. The table alone feeds lookup, error messages, `weir list`, the schema and the docs; there are no
// static initialisers. Interfaces are pure and shared: one object serves every replica that was given it.
#include <memory>
#include <string>
#include <vector>

#include "sim/core/params.h"

namespace weir {

template <class Interface>
struct CatalogEntry {
  std::string name;     // as written in the scenario, e.g. "chunked_prefill"
  std::string summary;  // one line, for `weir list` and the docs
  std::shared_ptr<const Interface> (*make)(
      Params&);  // reads its own keys; null only if it reported a problem
  bool is_default = false;
};
inline constexpr bool by_default = true;  // as the last word of the row that stands where no `kind` is given

template <class Interface>
using Catalog = std::vector<CatalogEntry<Interface>>;

template <class Entry>
std::vector<std::string> names_of(const std::vector<Entry>& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.push_back(entry.name);
  return names;
}

// Nothing where a `kind` has to be given.
template <class Interface>
std::optional<std::string> default_of(const Catalog<Interface>& table) {
  for (const auto& entry : table)
    if (entry.is_default) return entry.name;
  return {};
}

// As it is when no key is given; one that is required is 0 or empty then.
template <class Interface>
std::shared_ptr<const Interface> made_by_defaults(std::shared_ptr<const Interface> (*make)(Params&)) {
  const Json nothing = Json::object();
  Reading reading("");
  Params params(reading, nothing);
  return make(params);
}

// The names, for messages, of those that are as `holds` says when all of their keys have defaults.
template <class Interface, class Predicate>
std::vector<std::string> names_of(const Catalog<Interface>& table, const Predicate& holds) {
  std::vector<std::string> names;
  for (const auto& entry : table)
    if (const auto made = made_by_defaults(entry.make); made && holds(*made)) names.push_back(entry.name);
  return names;
}

// Reads `kind` and hands the object to that entry. While describing, every entry is described in turn.
template <class Interface>
std::shared_ptr<const Interface> make_from(const Catalog<Interface>& table, Params params, Key kind) {
  if (params.describing()) {
    std::shared_ptr<const Interface> last;
    for (const auto& entry : table) {
      Params alternative = params.alternative(entry.name, entry.is_default);
      last = entry.make(alternative);
      alternative.close();
    }
    return last;
  }
  const std::string wanted = params.choice(kind, names_of(table), default_of(table));
  for (const auto& entry : table) {
    if (entry.name != wanted) continue;
    auto made = entry.make(params);
    params.close();
    return made;
  }
  params.close_ignoring_rest();  // the unknown kind was reported; its keys mean nothing
  return nullptr;
}

}  // namespace weir
