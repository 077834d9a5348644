#include "sim/core/params.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/core/json/allowed_files.h"

namespace weir {
Reading Reading::describe() {
  Reading reading("");
  reading.describing_ = true;
  return reading;
}

std::string no_path(std::string_view text) {
  if (text.empty()) return "expected a path, got nothing";
  return text.find('\0') == std::string_view::npos
             ? ""
             : fmt::format("expected a path, got one with a NUL: {}", dumped(shortened(text, 60)));
}

std::filesystem::path Reading::relative(const std::string& path) {
  if (const std::string why = no_path(path); !why.empty()) throw ConfigError(file_, "", why);
  std::filesystem::path found = std::filesystem::path(file_).parent_path() / path;
  require_allowed(found);
  return *files_.insert(std::move(found)).first;
}

void Reading::problem(std::string pointer, std::string what) {
  problems_.push_back({std::move(pointer), std::move(what)});
}

void Reading::misfit(std::string pointer, std::string what) {
  problems_.push_back({std::move(pointer), std::move(what), true});
}

void Reading::note(std::string what) {
  if (std::find(notes_.begin(), notes_.end(), what) == notes_.end()) notes_.push_back(std::move(what));
}

void Reading::finish() const {
  if (failed()) throw ConfigError(file_, problems_, notes_);
}

Params::Params(Reading& reading, const Json& object) : Params(reading, &object, "", "") {}

Params::Params(Reading& reading, const Json* object, std::string pointer, std::string schema_path)
    : reading_(&reading),
      object_(object),
      pointer_(std::move(pointer)),
      schema_path_(std::move(schema_path)) {
  static const Json empty = Json::object();
  if (!object_->is_object()) {
    expected("", "an object", *object_);
    object_ = &empty;
    missing_ = closed_ = true;
  }
  if (describing()) {
    Json& node = schema_node();
    node["type"] = "object";
    node["properties"]["about"] = {{"type", "string"}, {"description", "A comment for people; not used."}};
    if (pointer_.empty())
      node["properties"]["$schema"] = {{"type", "string"}, {"description", "For editors; not used."}};
    node["additionalProperties"] = false;
  } else {
    for (const char* comment : {"about", "$schema"})
      if (const auto it = object_->find(comment);
          it != object_->end() && !it->is_string() && (pointer_.empty() || *comment == 'a'))
        expected(comment, "a string", *it);
  }
}

Json& Params::schema_node(const std::string& below) {
  return reading_->schema[Json::json_pointer(schema_path_ + below)];
}

// As json_pointer would, which splits the whole pointer into words each time: a scenario has some 200 keys.
Json& Params::resolved_node() {
  if (pointer_.find('~') != std::string::npos) return reading_->resolved[Json::json_pointer(pointer_)];
  Json* node = &reading_->resolved;
  for (std::size_t at = 0; at < pointer_.size();) {
    const std::size_t end = std::min(pointer_.find('/', at + 1), pointer_.size());
    const std::string word = pointer_.substr(at + 1, end - at - 1);
    node = node->is_array() ? &(*node)[std::stoul(word)] : &(*node)[word];
    at = end;
  }
  return *node;
}

void Params::resolve(const std::string& key, const Json& value) {
  resolved_node()[key] = value;
}

void Params::fail(const std::string& key, const std::string& what) {
  reading_->problem(key.empty() ? pointer_ : pointer_ + "/" + key, what);
}

void Params::note(const std::string& key, const std::string& what) {
  reading_->note(fmt::format("{}{}{}: {}", pointer_, key.empty() ? "" : "/", key, what));
}

void Params::note_if_beyond(const char* key, double value, double largest) {
  constexpr double far = 100;
  if (largest > 0 && value > far * largest)
    note(key, fmt::format("{} is more than {} times the largest of the catalog, {}", value, far, largest));
}

namespace {

std::string in_words(const Json& value) {
  constexpr std::size_t few = 20, most = 60;
  if (value.is_array() && value.size() > few) return fmt::format("a list of {} values", value.size());
  if (value.is_object() && value.size() > few) return fmt::format("an object of {} keys", value.size());
  if (value.is_string() && value.get_ref<const std::string&>().size() > most)
    return in_words(Json(shortened(value.get_ref<const std::string&>(), most - 2)));
  return shortened(dumped(value), most);
}

}  // namespace

void Params::expected(const std::string& key, const std::string& what, const Json& got) {
  fail(key, fmt::format("expected {}, got {}", what, in_words(got)));
}

bool Params::has(const char* key) const {
  const auto it = object_->find(key);
  return it != object_->end() && !it->is_null();
}

bool Params::has_null(const char* key) const {
  const auto it = object_->find(key);
  return it != object_->end() && it->is_null();
}

const Json* Params::given(const char* key) const {
  const auto it = object_->find(key);
  return it == object_->end() ? nullptr : &*it;
}

const Json* Params::find(const Key& key, Json declaration, const std::optional<Json>& fallback) {
  known_.emplace_back(key.name);
  if (describing()) {
    declaration["description"] = key.help;
    if (fallback)
      declaration["default"] = *fallback;
    else
      schema_node("/required").push_back(key.name);
    schema_node(std::string("/properties/") + key.name) = std::move(declaration);
    return nullptr;
  }
  if (missing_) return nullptr;  // the object itself is missing or no object, and that was said
  const auto it = object_->find(key.name);
  if (it != object_->end()) return &*it;
  if (fallback)
    resolve(key.name, *fallback);
  else
    fail(key.name, "required, but missing");
  return nullptr;
}

Params Params::object(Key key, Presence presence) {
  static const Json empty = Json::object();
  const bool optional = presence == Presence::optional;
  const Json* v = find(key, Json::object(), optional ? std::optional<Json>(empty) : std::nullopt);
  Params below(*reading_, v ? v : &empty, pointer_ + "/" + key.name,
               schema_path_ + "/properties/" + key.name);
  if (!v && !optional) below.missing_ = below.closed_ = true;
  if (v) resolve(key.name, empty);
  return below;
}

std::optional<Params> Params::object_if_given(Key key) {
  if (!describing() && object_->contains(key.name)) return object(key);
  known_.emplace_back(key.name);
  if (!describing()) return {};
  static const Json empty = Json::object();
  schema_node(std::string("/properties/") + key.name) = {{"description", key.help}};
  return Params(*reading_, &empty, pointer_ + "/" + key.name, schema_path_ + "/properties/" + key.name);
}

std::optional<Params> Params::object_or_null(Key key) {
  if (!describing()) {
    if (has(key.name)) return object(key);
    null_by_default(key, {});
    return {};
  }
  static const Json empty = Json::object();
  schema_node(std::string("/properties/") + key.name) = {
      {"description", key.help}, {"default", nullptr}, {"oneOf", Json::array({{{"type", "null"}}})}};
  known_.emplace_back(key.name);
  return Params(*reading_, &empty, pointer_ + "/" + key.name, schema_path_ + "/properties/" + key.name);
}

std::size_t Params::items(const char* key) const {
  const auto it = object_->find(key);
  return it != object_->end() && it->is_array() ? it->size() : 0;
}

std::vector<Params> Params::list(Key key, std::size_t min_items, Presence presence, std::size_t max_items) {
  const std::string below = schema_path_ + "/properties/" + key.name + "/items";
  static const Json empty = Json::object(), one_empty = Json::array({empty}), none = Json::array();
  const Json& absent = min_items == 0 ? none : one_empty;
  const bool optional = presence == Presence::optional;
  const Json array = describing() ? Json({{"type", "array"},
                                          {"minItems", min_items},
                                          {"maxItems", max_items},
                                          {"items", Json::object()}})
                                  : Json();
  const Json* v = find(key, array, optional ? std::optional<Json>(absent) : std::nullopt);
  if (!v && optional && !describing()) v = &absent;
  std::vector<Params> items;
  if (describing()) items.push_back(Params(*reading_, &empty, pointer_ + "/" + key.name + "/0", below));
  if (!v) return items;
  if (!v->is_array() || v->size() < min_items || v->size() > max_items) {
    const bool many = v->is_array() && v->size() > max_items;
    expected(key.name,
             many ? fmt::format("a list of at most {} objects", max_items)
                  : fmt::format("a list of at least {} objects", min_items),
             *v);
    return items;
  }
  resolve(key.name, Json::array());
  for (std::size_t i = 0; i < v->size(); ++i) {
    const std::string at = fmt::format("{}/{}/{}", pointer_, key.name, i);
    reading_->resolved[Json::json_pointer(at)] = empty;
    items.push_back(Params(*reading_, &(*v)[i], at, below));
  }
  return items;
}

const Json* Params::value(Key key, Json schema, std::optional<Json> fallback) {
  const Json* v = find(key, std::move(schema), fallback);
  if (v) resolve(key.name, *v);
  return v;
}

Params Params::alternative(const std::string& kind, bool is_default) {
  return alternative(Json{{"const", kind}}, is_default);
}

Params Params::alternative(Json kind, bool is_default) {
  closed_ = true;
  Json& node = schema_node();
  for (const char* own : {"type", "properties", "additionalProperties"}) node.erase(own);
  const std::size_t index = node.contains("oneOf") ? node["oneOf"].size() : 0;
  node["oneOf"].push_back(Json::object());
  Params alternative(*reading_, object_, pointer_, fmt::format("{}/oneOf/{}", schema_path_, index));
  alternative.known_.emplace_back("kind");
  alternative.schema_node("/properties/kind") = std::move(kind);
  if (!is_default) alternative.schema_node("/required").push_back("kind");
  return alternative;
}

std::vector<std::string> Params::unread() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object_->items())
    if (!value.is_null() && std::find(known_.begin(), known_.end(), key) == known_.end()) keys.push_back(key);
  return keys;
}

void Params::close() {
  if (closed_ || describing()) return;
  closed_ = true;
  for (const auto& [key, value] : object_->items()) {
    if (key == "about" || (key == "$schema" && pointer_.empty()) ||
        std::find(known_.begin(), known_.end(), key) != known_.end())
      continue;
    const std::string nearest = nearest_name(key, known_);
    fail(key, nearest.empty() ? fmt::format("unknown key (known: {})", fmt::join(known_, ", "))
                              : fmt::format("unknown key; did you mean \"{}\"?", nearest));
  }
}

}  // namespace weir
