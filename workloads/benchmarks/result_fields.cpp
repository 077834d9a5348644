#include "workloads/benchmarks/result_fields.h"

#include <fmt/format.h>

#include <cmath>

namespace weir {
namespace {

bool not_below_0(double value) {
  return value >= 0;
}

template <class Value, class Good>
std::vector<Value> list_of(const nlohmann::json& list, const std::string& at, std::vector<Problem>& problems,
                           const char* expected, Good good) {
  std::vector<Value> all;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const nlohmann::json& value = list[i];
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!std::isfinite(number) || !good(number))
      problems.push_back({fmt::format("{}/{}", at, i),
                          fmt::format("expected {}, got {}", expected, printable(value.dump()))});
    all.push_back(std::isfinite(number) && good(number) ? static_cast<Value>(number) : Value{});
  }
  return all;
}

}  // namespace

const nlohmann::json* ResultFields::field(const char* name) const {
  const auto found = object_->find(name);
  if (read_ && found != object_->end()) read_->insert(at(name));
  return found == object_->end() || found->is_null() ? nullptr : &*found;
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

std::optional<double> ResultFields::deviation(const char* name) const {
  const Json* value = field(name);
  return value && *value == "NaN" ? std::nullopt : number(name);
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
  if (value->is_object()) return ResultFields(*value, at(name), *problems_, read_);
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
      all.emplace_back(list[i], at_element, *problems_, i == 0 ? read_ : nullptr);
    else
      problems_->push_back({at_element, "expected an object, got " + printable(list[i].dump())});
  }
  return all;
}

std::vector<double> ResultFields::numbers(const char* name) const {
  return list_of<double>(list(name), at(name), *problems_, "a number >= 0", not_below_0);
}

std::vector<std::vector<double>> ResultFields::lists_of_numbers(const char* name) const {
  std::vector<std::vector<double>> all;
  for (const Json& below : list(name)) {
    const std::string at_element = fmt::format("{}/{}", at(name), all.size());
    if (!below.is_array())
      problems_->push_back({at_element, "expected a list, got " + printable(below.dump())});
    all.push_back(list_of<double>(below.is_array() ? below : Json::array(), at_element, *problems_,
                                  "a number >= 0", not_below_0));
  }
  return all;
}

std::vector<std::int64_t> ResultFields::token_counts(const char* name) const {
  return list_of<std::int64_t>(
      list(name), at(name), *problems_, "a whole number of tokens",
      [](double value) { return value >= 0 && value <= max_tokens && value == std::floor(value); });
}

void read_statistics(const ResultFields& of, std::span<const Statistic> statistics, const std::string& time,
                     double factor, BenchmarkResult& benchmark) {
  for (const auto& [theirs, ours] : statistics)
    if (const auto value = std::string_view(ours) == "std" ? of.deviation(theirs) : of.number(theirs))
      benchmark.metrics.emplace_back(fmt::format("{}_{}_ms", ours, time), factor * *value);
}

void set_times(BenchmarkedRequest& request, double sent_s, std::optional<double> first_s,
               std::optional<double> end_s) {
  request.sent_s = sent_s;
  if (first_s) request.ttft_ms = 1e3 * (*first_s - sent_s);
  if (end_s) request.e2el_ms = 1e3 * (*end_s - sent_s);
  if (first_s && end_s && request.output_tokens > 1)
    request.tpot_ms = 1e3 * (*end_s - *first_s) / static_cast<double>(request.output_tokens - 1);
}

std::optional<std::int64_t> tokens_of(const ResultFields& fields, const char* name) {
  const std::optional<std::int64_t> tokens = fields.count(name);
  if (!tokens || *tokens <= max_tokens) return tokens;
  fields.problem(name, fmt::format("expected at most {} tokens, got {}", max_tokens, *tokens));
  return {};
}

std::optional<std::int64_t> concurrency_of(const ResultFields& fields, const char* name) {
  const std::optional<std::int64_t> concurrency = fields.count(name);
  if (concurrency == 0) fields.problem(name, "expected 1 or more");
  return concurrency;
}

}  // namespace weir
