#include "workloads/benchmarks/result_fields.h"

#include <fmt/format.h>

#include <cmath>

namespace weir {

const nlohmann::json* ResultFields::field(const char* name) const {
  const auto at = object_->find(name);
  return at == object_->end() || at->is_null() ? nullptr : &*at;
}

bool ResultFields::has(const char* name) const {
  return field(name) != nullptr;
}

void ResultFields::problem(const char* name, std::string what) const {
  problems_->push_back({at(name), std::move(what)});
}

std::optional<double> ResultFields::number(const char* name) const {
  const Json* value = field(name);
  if (!value) return {};
  if (value->is_number() && std::isfinite(value->get<double>())) return value->get<double>();
  problem(name, "expected a number, got " + printable(value->dump()));
  return {};
}

std::optional<std::int64_t> ResultFields::count(const char* name) const {
  constexpr double most = 1e15;
  const std::optional<double> value = number(name);
  if (!value) return {};
  if (*value >= 0 && *value <= most && *value == std::floor(*value)) return static_cast<std::int64_t>(*value);
  problem(name, fmt::format("expected a whole number from 0, got {:g}", *value));
  return {};
}

std::string ResultFields::text(const char* name) const {
  const Json* value = field(name);
  if (!value) return "";
  if (value->is_string()) return value->get<std::string>();
  problem(name, "expected a text, got " + printable(value->dump()));
  return "";
}

std::optional<ResultFields> ResultFields::object(const char* name) const {
  const Json* value = field(name);
  if (!value) return {};
  if (value->is_object()) return ResultFields(*value, at(name), *problems_);
  problem(name, "expected an object, got " + printable(value->dump()));
  return {};
}

const nlohmann::json& ResultFields::list(const char* name) const {
  static const Json none = Json::array();
  const Json* value = field(name);
  if (value && value->is_array()) return *value;
  if (value) problem(name, "expected a list, got " + printable(value->dump()));
  return none;
}

std::vector<ResultFields> ResultFields::objects(const char* name) const {
  std::vector<ResultFields> all;
  const Json& list = this->list(name);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at_element = fmt::format("{}/{}", at(name), i);
    if (list[i].is_object())
      all.emplace_back(list[i], at_element, *problems_);
    else
      problems_->push_back({at_element, "expected an object, got " + printable(list[i].dump())});
  }
  return all;
}

template <class Value, class Good>
std::vector<Value> ResultFields::list_of(const char* name, const char* expected, Good good) const {
  std::vector<Value> all;
  const Json& list = this->list(name);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Json& value = list[i];
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!std::isfinite(number) || !good(number))
      problems_->push_back({fmt::format("{}/{}", at(name), i),
                            fmt::format("expected {}, got {}", expected, printable(value.dump()))});
    all.push_back(std::isfinite(number) && good(number) ? static_cast<Value>(number) : Value{});
  }
  return all;
}

std::vector<double> ResultFields::numbers(const char* name) const {
  return list_of<double>(name, "a number >= 0", [](double value) { return value >= 0; });
}

std::vector<std::int64_t> ResultFields::token_counts(const char* name) const {
  return list_of<std::int64_t>(name, "a whole number of tokens", [](double value) {
    return value >= 0 && value <= max_tokens && value == std::floor(value);
  });
}

std::optional<std::int64_t> tokens_of(const ResultFields& fields, const char* name) {
  const std::optional<std::int64_t> tokens = fields.count(name);
  if (!tokens || *tokens <= max_tokens) return tokens;
  fields.problem(name, fmt::format("expected at most {} tokens, got {}", max_tokens, *tokens));
  return {};
}

}  // namespace weir
