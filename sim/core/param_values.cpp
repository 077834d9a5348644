// The readers of single values: numbers and their ranges, flags, texts, lists of numbers, units.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "sim/core/params.h"

namespace weir {
namespace {

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
Json declared(const char* type, Range<T> range) {
  Json declaration = {{"type", type}};
  if (range.min != std::numeric_limits<T>::lowest())
    declaration[range.open ? "exclusiveMinimum" : "minimum"] = range.min;
  if (range.max != std::numeric_limits<T>::max()) declaration["maximum"] = range.max;
  return declaration;
}

template <class T>
bool inside(T value, Range<T> range) {
  return (range.open ? value > range.min : value >= range.min) && value <= range.max;
}

std::string missed(const Json& value, Range<double> range) {
  return weir::missed(value.is_number() ? value.get<double>() : NAN, range);
}

template <class T>
T harmless(Range<T> range, std::optional<T> fallback) {
  if (fallback) return *fallback;
  if (range.min == std::numeric_limits<T>::lowest()) return T{};
  return range.open ? std::min(range.max, range.min + 1) : range.min;
}

template <class T>
std::optional<Json> as_json(const std::optional<T>& value) {
  return value ? std::optional<Json>(Json(*value)) : std::nullopt;
}

}  // namespace

std::string missed(double value, Range<double> range) {
  constexpr double smallest = 1e-12, largest = 1e15;
  if (!std::isfinite(value) || !inside(value, range)) return fmt::format("a number{}", shown(range));
  if (value != 0 && (std::abs(value) < smallest || std::abs(value) > largest))
    return fmt::format("a number of a size between {} and {}", smallest, largest);
  return "";
}

std::int64_t Params::integer(Key key, Range<std::int64_t> range, std::optional<std::int64_t> fallback) {
  if (const auto usual = usual_.find(key.name); usual != usual_.end()) fallback = usual->second;
  const Json* v = find(key, describing() ? declared("integer", range) : Json(), as_json(fallback));
  if (!v) return harmless(range, fallback);
  const bool fits =
      v->is_number_integer() && !(v->is_number_unsigned() && v->get<std::uint64_t>() > INT64_MAX);
  if (!fits || !inside(v->get<std::int64_t>(), range)) {
    const bool beyond = v->is_number() && std::abs(v->get<double>()) >= 0x1p63;
    expected(key.name,
             fmt::format("an integer{}{}", shown(range),
                         beyond && range.max == INT64_MAX ? " of 64 bits, below 2^63" : ""),
             *v);
    return harmless(range, fallback);
  }
  resolve(key.name, *v);
  return v->get<std::int64_t>();
}

double Params::number(Key key, Range<double> range, std::optional<double> fallback) {
  const Json* v = find(key, describing() ? declared("number", range) : Json(), as_json(fallback));
  if (!v) return harmless(range, fallback);
  if (const std::string what = missed(*v, range); !what.empty()) {
    expected(key.name, what, *v);
    return harmless(range, fallback);
  }
  resolve(key.name, *v);
  return v->get<double>();
}

std::optional<double> Params::number_if_given(Key key, Range<double> range) {
  if (!describing() && object_->contains(key.name)) return number(key, range);
  known_.emplace_back(key.name);
  if (describing()) {
    Json declaration = declared("number", range);
    declaration["description"] = key.help;
    schema_node(std::string("/properties/") + key.name) = std::move(declaration);
  }
  return {};
}

void Params::null_by_default(const Key& key, Json declaration) {
  if (describing()) declaration["type"] = Json::array({declaration["type"], "null"});
  find(key, std::move(declaration), Json(nullptr));
  if (!describing()) resolve(key.name, nullptr);
}

std::optional<std::int64_t> Params::integer_or_null(Key key, Range<std::int64_t> range) {
  if (!describing() && has(key.name)) return integer(key, range);
  null_by_default(key, describing() ? declared("integer", range) : Json());
  return {};
}

std::optional<double> Params::number_or_null(Key key, Range<double> range) {
  if (!describing() && has(key.name)) return number(key, range);
  null_by_default(key, describing() ? declared("number", range) : Json());
  return {};
}

bool Params::flag(Key key, std::optional<bool> fallback) {
  const Json* v = find(key, {{"type", "boolean"}}, as_json(fallback));
  if (!v) return fallback.value_or(false);
  if (!v->is_boolean()) {
    expected(key.name, "true or false", *v);
    return fallback.value_or(false);
  }
  resolve(key.name, *v);
  return v->get<bool>();
}

std::string Params::text(Key key, std::optional<std::string> fallback) {
  const Json* v = find(key, {{"type", "string"}}, as_json(fallback));
  if (!v) return fallback.value_or("");
  if (!v->is_string()) {
    expected(key.name, "a string", *v);
    return fallback.value_or("");
  }
  resolve(key.name, *v);
  return v->get<std::string>();
}

std::optional<std::string> Params::required_text(Key key) {
  const auto it = object_->find(key.name);
  const std::string given = text(key);
  return it != object_->end() && it->is_string() ? std::optional(given) : std::nullopt;
}

std::optional<std::string> Params::text_or_null(Key key) {
  if (!describing() && has(key.name)) return required_text(key);
  null_by_default(key, {{"type", "string"}});
  return {};
}

std::optional<std::filesystem::path> Params::path(Key key) {
  const std::optional<std::string> given = required_text(key);
  if (!given || describing()) return {};
  if (const std::string why = no_path(*given); !why.empty()) {
    fail(key.name, why);
    return {};
  }
  return reading_->relative(*given);
}

std::optional<std::filesystem::path> Params::path_or_null(Key key) {
  if (!describing() && has(key.name)) return path(key);
  null_by_default(key, {{"type", "string"}});
  return {};
}

std::string Params::choice(Key key, const std::vector<std::string>& known,
                           std::optional<std::string> fallback) {
  const Json* v =
      find(key, describing() ? Json({{"type", "string"}, {"enum", known}}) : Json(), as_json(fallback));
  if (!v) return fallback.value_or("");
  if (!v->is_string()) {
    expected(key.name, fmt::format("one of {}", fmt::join(known, ", ")), *v);
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

std::vector<double> Params::numbers(Key key, std::size_t min_items, Range<double> range) {
  const Json* v =
      find(key, {{"type", "array"}, {"minItems", min_items}, {"items", declared("number", range)}}, {});
  if (!v) return {};
  if (!v->is_array() || v->size() < min_items) {
    expected(key.name, fmt::format("a list of at least {} numbers", min_items), *v);
    return {};
  }
  std::vector<double> values;
  for (std::size_t i = 0; i < v->size(); ++i) {
    const std::string what = missed((*v)[i], range);
    if (what.empty())
      values.push_back((*v)[i].get<double>());
    else
      expected(fmt::format("{}/{}", key.name, i), what, (*v)[i]);
  }
  resolve(key.name, *v);
  return values;
}

std::optional<std::vector<double>> Params::numbers_or_null(Key key, std::size_t min_items,
                                                           Range<double> range) {
  if (!describing() && has(key.name)) return numbers(key, min_items, range);
  null_by_default(
      key, describing()
               ? Json({{"type", "array"}, {"minItems", min_items}, {"items", declared("number", range)}})
               : Json());
  return {};
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
      {"_ghz", 1e9},
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
