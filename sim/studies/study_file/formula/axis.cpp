#include "sim/studies/study_file/formula/axis.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/app/sweep/axes/axis_values.h"
#include "sim/app/sweep/validator.h"

namespace weir::study {
namespace {

constexpr std::size_t most_of_an_axis = 1000;

bool is_plain(const Json& value) {
  return value.is_number() || value.is_string();
}

bool is_record(const Json& value) {
  return value.is_object() && !value.empty() && std::ranges::all_of(value.items(), [](const auto& item) {
           return is_plain(item.value()) && (is_name(item.key()));
         });
}

std::string wrong_with(const std::vector<Json>& values) {
  const Json& first = values.front();
  for (const Json& value : values) {
    if (!is_plain(value) && !is_record(value))
      return "expected numbers, texts, or records of them, got " + dumped(value).substr(0, 60);
    if (value.is_object() != first.is_object() || value.is_string() != first.is_string())
      return fmt::format("{} is not of the kind of the first value", dumped(value).substr(0, 60));
    if (!value.is_object()) continue;
    const bool alike =
        value.size() == first.size() && std::ranges::all_of(first.items(), [&](const auto& item) {
          return value.contains(item.key()) && value[item.key()].is_string() == item.value().is_string();
        });
    if (!alike) return fmt::format("{} has not the fields of the first record", dumped(value).substr(0, 60));
  }
  return "";
}

void add_axis(Axes& axes, const std::string& name, const Json& given, Reading& reading) {
  const std::string at = "/axes/" + escaped(name);
  if (!is_name(name) || find_axis(axes, name))
    return reading.problem(at, "expected a name of small letters, digits and _, other than \"set\"");
  std::vector<Json> values = axis_values(given, at, reading, [&](double count) {
    if (count > most_of_an_axis) reading.problem(at, fmt::format("more than {} values", most_of_an_axis));
    return count <= most_of_an_axis;
  });
  if (values.empty()) return;  // that was said
  if (const std::string wrong = wrong_with(values); !wrong.empty()) return reading.problem(at, wrong);
  const StudyAxis axis(name, values);
  for (std::size_t i = 0; axis.has("") && i < axis.size(); ++i)
    if (axis.with_label(axis.label(i, "")) != i)
      return reading.problem(at, fmt::format("{} is given twice", axis.label(i, "")));
  axes.push_back(axis);
}

}  // namespace

std::vector<std::string> StudyAxis::fields() const {
  std::vector<std::string> fields;
  if (values_.front().is_object())
    for (const auto& [field, value] : values_.front().items()) fields.push_back(field);
  return fields;
}

bool StudyAxis::has(const std::string& field) const {
  if (!values_.front().is_object()) return field.empty();
  return values_.front().contains(field.empty() ? "name" : field);
}

const Json& StudyAxis::value(std::size_t i, const std::string& field) const {
  const Json& value = values_.at(i);
  return value.is_object() ? value.at(field.empty() ? "name" : field) : value;
}

bool StudyAxis::is_number(const std::string& field) const {
  return value(0, field).is_number();
}

std::string StudyAxis::label(std::size_t i, const std::string& field) const {
  return label_of(value(i, field));
}

std::vector<std::string> StudyAxis::labels() const {
  std::vector<std::string> all;
  for (std::size_t i = 0; has("") && i < size(); ++i) all.push_back(label(i, ""));
  return all;
}

std::optional<std::size_t> StudyAxis::with_label(const std::string& wanted) const {
  if (!has("")) return {};
  for (std::size_t i = 0; i < size(); ++i)
    if (label(i, "") == wanted) return i;
  return {};
}

std::string label_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? fmt::format("{}", value.get<double>()) : dumped(value);
}

bool is_name(const std::string& text) {
  return !text.empty() && text.front() >= 'a' && text.front() <= 'z' && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::optional<std::size_t> find_axis(const Axes& axes, const std::string& name) {
  const auto found = std::ranges::find(axes, name, &StudyAxis::name);
  return found == axes.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - axes.begin()));
}

std::vector<std::string> names_of(const Axes& axes) {
  std::vector<std::string> names;
  for (const StudyAxis& axis : axes) names.push_back(axis.name());
  return names;
}

std::size_t index_of(const Axes& axes, const AxisSet& of, const Place& place) {
  std::size_t index = 0;
  for (const std::size_t axis : of) index = index * axes[axis].size() + place.at(axis);
  return index;
}

std::size_t combinations(const Axes& axes, const std::vector<std::size_t>& of) {
  double product = 1;
  for (const std::size_t axis : of) product *= static_cast<double>(axes[axis].size());
  return product < 1e18 ? static_cast<std::size_t>(product) : unchosen;
}

Axes read_axes(const Json& given, std::size_t sets, Reading& reading) {
  Axes axes = {StudyAxis("set", {set_names, set_names + sets})};
  if (!given.is_object()) {
    reading.problem("/axes", "expected an object of names and values");
    return axes;
  }
  for (const auto& [name, values] : given.items()) add_axis(axes, name, values, reading);
  return axes;
}

Json axes_schema() {
  return {{"type", "object"},
          {"propertyNames", {{"pattern", "^[a-z][a-z0-9_]*$"}}},
          {"additionalProperties", axis_values_schema()}};
}

}  // namespace weir::study
