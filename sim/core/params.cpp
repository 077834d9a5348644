#include "sim/core/params.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>

namespace weir {
namespace {

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

template <class T>
std::string shown(Range<T> range) {
  const bool low = range.min != std::numeric_limits<T>::lowest();
  const bool high = range.max != std::numeric_limits<T>::max();
  std::string text;
  if (low) text += fmt::format(" {} {}", range.open ? ">" : ">=", range.min);
  if (high) text += fmt::format("{} <= {}", low ? " and" : "", range.max);
  return text;
}

template <class T>
void declare(Json& declaration, Range<T> range) {
  if (range.min != std::numeric_limits<T>::lowest())
    declaration[range.open ? "exclusiveMinimum" : "minimum"] = range.min;
  if (range.max != std::numeric_limits<T>::max()) declaration["maximum"] = range.max;
}

template <class T>
bool inside(T value, Range<T> range) {
  return (range.open ? value > range.min : value >= range.min) && value <= range.max;
}

// Beyond these no unit of ours means anything, and sums and products of what is read would leave a double.
constexpr double smallest = 1e-12, largest = 1e15;

// What is wrong with a number; empty: nothing.
std::string why_not(const Json& value, Range<double> range) {
  const double v = value.is_number() ? value.get<double>() : NAN;
  if (!std::isfinite(v) || !inside(v, range))
    return fmt::format("expected a number{}, got {}", shown(range), shown(value));
  if (v != 0 && (std::abs(v) < smallest || std::abs(v) > largest))
    return fmt::format("expected a number of a size between {} and {}, got {}", smallest, largest,
                       shown(value));
  return "";
}

template <class T>
T harmless(Range<T> range, std::optional<T> fallback) {
  if (fallback) return *fallback;
  if (range.min == std::numeric_limits<T>::lowest()) return T{};
  return range.open ? std::min(range.max, range.min + 1) : range.min;
}

Json or_null(Json declaration) {
  declaration["type"] = Json::array({declaration["type"], "null"});
  return declaration;
}

template <class T>
std::optional<Json> as_json(const std::optional<T>& value) {
  return value ? std::optional<Json>(Json(*value)) : std::nullopt;
}

}  // namespace

Reading Reading::describe() {
  Reading reading("");
  reading.describing_ = true;
  return reading;
}

std::filesystem::path Reading::relative(const std::string& path) {
  return *files_.insert(std::filesystem::path(file_).parent_path() / path).first;
}

void Reading::problem(std::string pointer, std::string what) {
  problems_.push_back({std::move(pointer), std::move(what)});
}

void Reading::misfit(std::string pointer, std::string what) {
  problems_.push_back({std::move(pointer), std::move(what), true});
}

void Reading::finish() const {
  if (failed()) throw ConfigError(file_, problems_);
}

Params::Params(Reading& reading, const Json& object) : Params(reading, &object, "", "") {}

Params::Params(Reading& reading, const Json* object, std::string pointer, std::string schema_path)
    : reading_(&reading),
      object_(object),
      pointer_(std::move(pointer)),
      schema_path_(std::move(schema_path)) {
  static const Json empty = Json::object();
  if (!object_->is_object()) {
    fail("", fmt::format("expected an object, got {}", shown(*object_)));
    object_ = &empty;
    missing_ = closed_ = true;
  }
  if (describing()) {
    Json& node = schema_node();
    node["type"] = "object";
    node["properties"]["about"] = {{"type", "string"}, {"description", "A comment for people; not used."}};
    if (schema_path_.empty())
      node["properties"]["$schema"] = {{"type", "string"}, {"description", "For editors; not used."}};
    node["additionalProperties"] = false;
  } else {
    for (const char* comment : {"about", "$schema"})
      if (const auto it = object_->find(comment);
          it != object_->end() && !it->is_string() && (pointer_.empty() || *comment == 'a'))
        fail(comment, fmt::format("expected a string, got {}", shown(*it)));
  }
}

Json& Params::schema_node(const std::string& below) {
  return reading_->schema[Json::json_pointer(schema_path_ + below)];
}

void Params::resolve(const std::string& key, const Json& value) {
  reading_->resolved[Json::json_pointer(pointer_ + "/" + key)] = value;
}

void Params::fail(const std::string& key, const std::string& what) {
  reading_->problem(key.empty() ? pointer_ : pointer_ + "/" + key, what);
}

bool Params::has(const char* key) const {
  const auto it = object_->find(key);
  return it != object_->end() && !it->is_null();
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

std::int64_t Params::integer(Key key, Range<std::int64_t> range, std::optional<std::int64_t> fallback) {
  Json declaration = {{"type", "integer"}};
  declare(declaration, range);
  const Json* v = find(key, declaration, as_json(fallback));
  if (!v) return harmless(range, fallback);
  const bool fits =
      v->is_number_integer() && !(v->is_number_unsigned() && v->get<std::uint64_t>() > INT64_MAX);
  if (!fits || !inside(v->get<std::int64_t>(), range)) {
    fail(key.name, fmt::format("expected an integer{}, got {}", shown(range), shown(*v)));
    return harmless(range, fallback);
  }
  resolve(key.name, *v);
  return v->get<std::int64_t>();
}

double Params::number(Key key, Range<double> range, std::optional<double> fallback) {
  Json declaration = {{"type", "number"}};
  declare(declaration, range);
  const Json* v = find(key, declaration, as_json(fallback));
  if (!v) return harmless(range, fallback);
  if (const std::string why = why_not(*v, range); !why.empty()) {
    fail(key.name, why);
    return harmless(range, fallback);
  }
  resolve(key.name, *v);
  return v->get<double>();
}

std::optional<double> Params::number_if_given(Key key, Range<double> range) {
  if (!describing() && object_->contains(key.name)) return number(key, range);
  known_.emplace_back(key.name);
  if (describing()) {
    Json declaration = {{"type", "number"}};
    declare(declaration, range);
    declaration["description"] = key.help;
    schema_node(std::string("/properties/") + key.name) = std::move(declaration);
  }
  return {};
}

std::optional<std::int64_t> Params::integer_or_null(Key key, Range<std::int64_t> range) {
  Json declaration = {{"type", "integer"}};
  declare(declaration, range);
  if (!describing() && has(key.name)) return integer(key, range);
  find(key, or_null(declaration), Json(nullptr));
  if (!describing()) resolve(key.name, nullptr);
  return {};
}

std::optional<double> Params::number_or_null(Key key, Range<double> range) {
  Json declaration = {{"type", "number"}};
  declare(declaration, range);
  if (!describing() && has(key.name)) return number(key, range);
  find(key, or_null(declaration), Json(nullptr));
  if (!describing()) resolve(key.name, nullptr);
  return {};
}

bool Params::flag(Key key, std::optional<bool> fallback) {
  const Json* v = find(key, {{"type", "boolean"}}, as_json(fallback));
  if (!v) return fallback.value_or(false);
  if (!v->is_boolean()) {
    fail(key.name, fmt::format("expected true or false, got {}", shown(*v)));
    return fallback.value_or(false);
  }
  resolve(key.name, *v);
  return v->get<bool>();
}

std::string Params::text(Key key, std::optional<std::string> fallback) {
  const Json* v = find(key, {{"type", "string"}}, as_json(fallback));
  if (!v) return fallback.value_or("");
  if (!v->is_string()) {
    fail(key.name, fmt::format("expected a string, got {}", shown(*v)));
    return fallback.value_or("");
  }
  resolve(key.name, *v);
  return v->get<std::string>();
}

std::optional<std::string> Params::text_or_null(Key key) {
  if (!describing() && has(key.name)) return text(key);
  find(key, or_null({{"type", "string"}}), Json(nullptr));
  if (!describing()) resolve(key.name, nullptr);
  return {};
}

std::string Params::choice(Key key, const std::vector<std::string>& known,
                           std::optional<std::string> fallback) {
  const Json* v = find(key, {{"type", "string"}, {"enum", known}}, as_json(fallback));
  if (!v) return fallback.value_or("");
  if (!v->is_string()) {
    fail(key.name, fmt::format("expected one of {}, got {}", fmt::join(known, ", "), shown(*v)));
    return "";
  }
  const auto& wanted = v->get_ref<const std::string&>();
  if (std::find(known.begin(), known.end(), wanted) == known.end()) {
    fail(key.name, no_such(key.name, wanted, known));
    return "";
  }
  resolve(key.name, *v);
  return wanted;
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

std::vector<Params> Params::list(Key key, std::size_t min_items, Presence presence) {
  const std::string below = schema_path_ + "/properties/" + key.name + "/items";
  static const Json empty = Json::object(), one_empty = Json::array({empty});
  const bool optional = presence == Presence::optional;
  const Json* v = find(key, {{"type", "array"}, {"minItems", min_items}, {"items", Json::object()}},
                       optional ? std::optional<Json>(one_empty) : std::nullopt);
  if (!v && optional && !describing()) v = &one_empty;
  std::vector<Params> items;
  if (describing()) items.push_back(Params(*reading_, &empty, pointer_ + "/" + key.name + "/0", below));
  if (!v) return items;
  if (!v->is_array() || v->size() < min_items) {
    fail(key.name, fmt::format("expected a list of at least {} objects, got {}", min_items, shown(*v)));
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

std::vector<double> Params::numbers(Key key, std::size_t min_items, Range<double> range) {
  Json item = {{"type", "number"}};
  declare(item, range);
  const Json* v = find(key, {{"type", "array"}, {"minItems", min_items}, {"items", item}}, {});
  if (!v) return {};
  if (!v->is_array() || v->size() < min_items) {
    fail(key.name, fmt::format("expected a list of at least {} numbers, got {}", min_items, shown(*v)));
    return {};
  }
  std::vector<double> values;
  for (std::size_t i = 0; i < v->size(); ++i) {
    const std::string why = why_not((*v)[i], range);
    if (why.empty())
      values.push_back((*v)[i].get<double>());
    else
      fail(fmt::format("{}/{}", key.name, i), why);
  }
  resolve(key.name, *v);
  return values;
}

const Json* Params::value(Key key, Json schema, std::optional<Json> fallback) {
  const Json* v = find(key, std::move(schema), fallback);
  if (v) resolve(key.name, *v);
  return v;
}

Params::NameOrObject Params::name_or_object(Key key, const std::vector<std::string>& known,
                                            std::optional<std::string> fallback) {
  const std::string path = schema_path_ + "/properties/" + key.name;
  static const Json empty = Json::object();
  if (describing()) {
    const Json names = {{"type", "string"}, {"enum", known}};
    find(key, {{"oneOf", Json::array({names, Json::object()})}}, as_json(fallback));
    return {"", std::make_shared<Params>(
                    Params(*reading_, &empty, pointer_ + "/" + key.name, path + "/oneOf/1"))};
  }
  const auto it = object_->find(key.name);
  if (it == object_->end() || !it->is_object()) return {choice(key, known, std::move(fallback)), nullptr};
  known_.emplace_back(key.name);
  resolve(key.name, empty);
  return {"", std::make_shared<Params>(Params(*reading_, &*it, pointer_ + "/" + key.name, path))};
}

Params Params::alternative(const std::string& kind, bool is_default) {
  closed_ = true;
  Json& node = schema_node();
  for (const char* own : {"type", "properties", "additionalProperties"}) node.erase(own);
  const std::size_t index = node.contains("oneOf") ? node["oneOf"].size() : 0;
  node["oneOf"].push_back(Json::object());
  Params alternative(*reading_, object_, pointer_, fmt::format("{}/oneOf/{}", schema_path_, index));
  alternative.known_.emplace_back("kind");
  alternative.schema_node("/properties/kind") = {{"const", kind}};
  if (!is_default) alternative.schema_node("/required").push_back("kind");
  return alternative;
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

double Params::unit(const std::string& key) {
  // Longest suffix first: _gb_per_s ends in _s.
  static const std::vector<std::pair<std::string, double>> units = {
      {"_pj_per_byte", 1e-12},
      {"_pj_per_flop", 1e-12},
      {"_gb_per_s", 1e9},
      {"_tb_per_s", 1e12},
      {"_tflops", 1e12},
      {"_gflops", 1e9},
      {"_gib", 1073741824.},
      {"_mib", 1048576.},
      {"_kib", 1024.},
      {"_gb", 1e9},
      {"_mb", 1e6},
      {"_bytes", 1},
      {"_ms", 1e-3},
      {"_us", 1e-6},
      {"_ns", 1e-9},
      {"_s", 1},
      {"_w", 1},
  };
  for (const auto& [suffix, si] : units)
    if (key.ends_with(suffix)) return si;
  throw std::logic_error("no unit in the key " + key);
}

}  // namespace weir
