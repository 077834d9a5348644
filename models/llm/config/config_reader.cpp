#include "models/llm/config/config_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir {

ConfigReader::ConfigReader(Params& file, const Family& family, bool part)
    : family_(family), part_(part), own_(family.but), file_(file) {
  places_.push_back(&file);
  for (const std::string& key : family.within)
    if (file.has(key.c_str())) places_.push_back(&nested_.emplace_back(file.object({key.c_str(), ""})));
  if (part)
    for (const auto& [key, value] : family.defaults.items())
      if (!own_.contains(key)) own_[key] = value;
  of_family_.emplace(file.reading(), own_);
}

namespace {

// A list with a number a layer stands for that number where all are the same.
const Json& one_of(const Json& value) {
  const bool alike = value.is_array() && !value.empty() &&
                     std::ranges::all_of(value, [&](const Json& v) { return v == value[0]; });
  return alike && value[0].is_number() ? value[0] : value;
}

}  // namespace

// A null is the class's None, and no default stands in for it.
std::optional<ConfigReader::Found> ConfigReader::find(const char* key) {
  std::optional<Found> first;
  for (const std::string& name : names_of_key(family_, key))
    for (Params* place : places_) {
      const Json* value = place->has(name.c_str()) ? place->value({name.c_str(), ""}, {}) : nullptr;
      if (!value) continue;
      if (!first) {
        first = Found{place, name, value};
      } else if (one_of(*value) != one_of(*first->value) && !may_differ(key) && told_.insert(key).second) {
        place->fail(name, fmt::format("is another name of {}, and they differ (got {} and {})", first->name,
                                      shortened(dumped(*value), 40), shortened(dumped(*first->value), 40)));
      }
    }
  if (first) return first;
  const bool none = std::ranges::any_of(places_, [&](Params* place) { return place->has_null(key); });
  if (none || !of_family_->has(key)) return {};
  const Json* value = of_family_->value({key, ""}, {});
  if (part_ && !family_.but.contains(key)) {
    const std::string taken = fmt::format("{} {}", key, dumped(*value));
    if (std::ranges::find(taken_, taken) == taken_.end()) taken_.push_back(taken);
  }
  return Found{&*of_family_, key, value};
}

bool ConfigReader::in_file(const char* key) {
  const std::optional<Found> found = find(key);
  return found && found->in != &*of_family_;
}

std::int64_t ConfigReader::integer(const Found& found, Range<std::int64_t> range, std::int64_t fallback) {
  const Json& value = one_of(*found.value);
  if (!found.value->is_array()) return found.in->integer({found.name.c_str(), ""}, range);
  if (value.is_number_integer() && value >= range.min && value <= range.max) return value.get<std::int64_t>();
  found.in->fail(found.name, value.is_array()
                                 ? "layers that differ in it are not modelled"
                                 : fmt::format("expected integers >= {} and <= {}", range.min, range.max));
  return fallback;
}

std::int64_t ConfigReader::size(const char* key, std::int64_t max) {
  if (const auto found = find(key)) return integer(*found, {1, max}, 1);
  file_.fail(key, fmt::format("required, but missing, in a {} (model_type)", family_.name));
  return 1;
}

std::int64_t ConfigReader::size(const char* key, std::int64_t max, std::int64_t fallback) {
  const auto found = find(key);
  return found ? integer(*found, {1, max}, fallback) : fallback;
}

std::int64_t ConfigReader::count(const char* key, std::int64_t max, std::int64_t fallback) {
  const auto found = find(key);
  return found ? integer(*found, {0, max}, fallback) : fallback;
}

bool ConfigReader::flag(const char* key, bool fallback) {
  const auto found = find(key);
  return found ? found->in->flag({found->name.c_str(), ""}) : fallback;
}

double ConfigReader::share(const char* key, double fallback) {
  const auto found = find(key);
  return found ? found->in->number({found->name.c_str(), ""}, fraction) : fallback;
}

std::string ConfigReader::word(const char* key, const std::vector<std::string>& known,
                               const std::string& fallback) {
  const auto found = find(key);
  const std::string word = found ? found->in->choice({found->name.c_str(), ""}, known) : fallback;
  return word.empty() ? fallback : word;
}

bool ConfigReader::automatic(const char* key) {
  const auto found = find(key);
  return found && *found->value == Json("auto");
}

bool ConfigReader::text_given(const char* key) {
  const auto found = find(key);
  return found && found->value->is_string();
}

std::string ConfigReader::text(const char* key, const std::string& fallback) {
  const auto found = find(key);
  return found ? found->in->text({found->name.c_str(), ""}) : fallback;
}

std::vector<std::string> ConfigReader::words(const char* key) {
  const auto found = find(key);
  if (!found) return {};
  std::vector<std::string> all;
  if (found->value->is_string())
    for (const char letter : found->value->get_ref<const std::string&>()) all.emplace_back(1, letter);
  for (const Json& word : found->value->is_array() ? *found->value : Json::array())
    if (word.is_string()) all.push_back(word.get<std::string>());
  if (all.empty() || (found->value->is_array() && all.size() != found->value->size()))
    found->in->fail(found->name, "expected a list of words");
  return all;
}

std::vector<std::int64_t> ConfigReader::numbers(const char* key, Range<std::int64_t> range) {
  const auto found = find(key);
  if (!found) return {};
  std::vector<std::int64_t> all;
  for (const Json& number : found->value->is_array() ? *found->value : Json::array())
    if (number.is_number_integer() && number >= range.min && number <= range.max)
      all.push_back(number.get<std::int64_t>());
  if (!found->value->is_array() || all.size() != found->value->size())
    found->in->fail(found->name,
                    fmt::format("expected a list of integers from {} to {}", range.min, range.max));
  return all;
}

bool ConfigReader::list_given(const char* key) {
  const auto found = find(key);
  return found && found->value->is_array();
}

std::vector<bool> ConfigReader::flags(const char* key) {
  const auto found = find(key);
  if (!found) return {};
  std::vector<bool> all;
  for (const Json& flag : *found->value)
    if (flag == Json(true) || flag == Json(1) || flag == Json(false) || flag == Json(0))
      all.push_back(flag == Json(true) || flag == Json(1));
  if (all.size() == found->value->size()) return all;
  found->in->fail(found->name, "expected a list of true and false");
  return {};
}

std::optional<Params> ConfigReader::object(const char* key) {
  const auto found = find(key);
  if (!found) return {};
  return found->in->object({found->name.c_str(), ""});
}

void ConfigReader::fail(const char* key, const std::string& what) {
  const auto found = find(key);
  found ? found->in->fail(found->name, what) : file_.fail(key, what);
}

namespace {

// Nothing that a file says by its presence.
bool says_nothing(const Json& value) {
  return value == Json(false) || value == Json(0) || (value.is_structured() && value.empty());
}

}  // namespace

std::vector<std::string> ConfigReader::unread() {
  std::vector<std::string> names;
  for (Params* place : places_)
    for (const std::string& key : place->unread()) {
      if (is_harmless(family_, key)) continue;
      const Json* value = place->value({key.c_str(), ""}, {});
      if (value->is_structured() && value->empty()) continue;
      if (!tells_of_layers(key))
        names.push_back(key);
      else if (!says_nothing(*value))
        place->fail(key,
                    fmt::format("says of layers what Weir does not know of a {} (model_type)", family_.name));
    }
  return names;
}

}  // namespace weir
