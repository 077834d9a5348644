#include "devices/row_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "devices/catalog_rows.h"

namespace weir {
namespace {

double largest_in_catalog(const char* key) {
  double largest = 0;
  for (const std::string& kind : device_names()) {
    const Json& row = embedded_json(*text_of(device_catalog, kind), kind);
    if (const auto number = row.find(key); number != row.end() && number->is_number())
      largest = std::max(largest, number->get<double>());
  }
  return largest;
}

template <class Number>
void put(Json& row, const char* key, Number given, Params& params) {
  row[key] = given;
  params.note_if_beyond(key, static_cast<double>(given), largest_in_catalog(key));
}

// The help of a key that a scenario may set to null.
std::string help_of_null(const Key& key) {
  return std::string(key.help) + (*key.help ? " " : "") + "null: as the catalog has it.";
}

}  // namespace

void RowKeys::number(Key key, double& to, Range<double> range) {
  if (const std::optional<double> value = required(key, range)) to = *value;
}

void RowKeys::number(Key key, std::optional<double>& to, Range<double> range) {
  if (const std::optional<double> value = optional(key, range)) to = *value;
}

void RowKeys::whole_number(Key key, double& to, Range<double> range) {
  if (const std::optional<double> value = required(key, range, true)) to = *value;
}

std::optional<double> RowKeys::required(const Key& key, Range<double> range, bool whole) {
  const std::optional<double> value =
      row() ? std::optional(params_.number(key, range)) : params_.number_if_given(key, range);
  if (whole && value && *value != std::floor(*value))
    params_.fail(key.name, fmt::format("expected a whole number, got {}", *value));
  if (row()) return value;
  if (value && overridden_->is_object()) {
    const auto own = overridden_->find(key.name);
    if (own == overridden_->end() || !own->is_number() || own->get<double>() != *value)
      changed_.emplace_back(key.name);
    put(*overridden_, key.name, *value, params_);
  }
  return {};
}

std::optional<double> RowKeys::optional(const Key& key, Range<double> range) {
  if (row() && !params_.has(key.name)) return {};
  return required(key, range);
}

std::optional<std::int64_t> RowKeys::counted(const Key& key, std::int64_t most) {
  if (row()) return params_.integer(key, {1, most});
  const std::optional<std::int64_t> given =
      params_.integer_or_null({key.name, help_of_null(key).c_str()}, {1, most});
  if (given && overridden_->is_object()) put(*overridden_, key.name, *given, params_);
  return {};
}

void RowKeys::choose(const Key& key, const std::vector<std::string>& known) {
  Json allowed = Json::array({nullptr});
  for (const std::string& name : known) allowed.push_back(name);
  const Json* given =
      params_.value({key.name, help_of_null(key).c_str()}, {{"enum", allowed}}, Json(nullptr));
  if (!given || given->is_null()) return;
  if (std::find(allowed.begin(), allowed.end(), *given) == allowed.end())
    params_.fail(key.name,
                 no_such(key.name, given->is_string() ? given->get<std::string>() : given->dump(), known));
  else if (overridden_->is_object())
    (*overridden_)[key.name] = *given;
}

}  // namespace weir
