#include "sim/app/sweep/where.h"

#include <fmt/format.h>
#include <muParser.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <stdexcept>

#include "sim/core/errors.h"

namespace weir {
namespace {

double remainder_of(double a, double b) {
  return std::fmod(a, b);
}

mu::Parser parser_of(const std::string& text) {
  constexpr int as_tight_as_times = mu::prMUL_DIV;
  mu::Parser parser;
  parser.DefineOprt("%", remainder_of, as_tight_as_times);
  parser.SetExpr(text);
  return parser;
}

std::optional<double> as_number(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number()) return value.get<double>();
  return {};
}

const Json* at(const Json& document, const char* pointer) {
  const Json::json_pointer p(pointer);
  try {
    return document.contains(p) ? &document.at(p) : nullptr;
  } catch (const Json::exception&) {
    return nullptr;
  }
}

double number_at(const Json& document, const char* pointer, double fallback) {
  const Json* found = at(document, pointer);
  return found ? as_number(*found).value_or(fallback) : fallback;
}

double devices_of(const Json& scenario) {
  const Json* nodes = at(scenario, "/cluster/nodes");
  if (!nodes || !nodes->is_array()) return 0;
  double devices = 0;
  for (const Json& node : *nodes) {
    const Json* groups = at(node, "/devices");
    if (!groups || !groups->is_array()) continue;
    for (const Json& group : *groups) devices += number_at(node, "/count", 1) * number_at(group, "/count", 1);
  }
  return devices;
}

// replicas_0_count, and count: the ends of /serving/replicas/0/count that are words.
std::vector<std::string> ends_of(const std::string& pointer) {
  std::string whole = pointer.substr(1);
  std::replace(whole.begin(), whole.end(), '/', '_');
  std::vector<std::string> ends;
  for (std::size_t i = pointer.rfind('/'); i != std::string::npos; i = pointer.rfind('/', i - 1)) {
    if (i + 1 < pointer.size() && std::isalpha(static_cast<unsigned char>(pointer[i + 1])))
      ends.push_back(whole.substr(i));
    if (i == 0) break;
  }
  return ends;
}

struct Meaning {
  double value = 0;
  int pointers = 0;  // that it may mean
};

std::map<std::string, Meaning> meanings(const Varied& varied, const Json& scenario) {
  std::map<std::string, Meaning> all;
  for (const auto& [name, value] : scenario_names(scenario)) all[name] = {value, 0};
  for (const auto& [pointer, value] : varied)
    if (const auto number = as_number(value))
      for (const std::string& end : ends_of(pointer)) {
        Meaning& m = all[end];
        m = {*number, m.pointers + 1};
      }
  return all;
}

}  // namespace

std::vector<std::pair<std::string, double>> scenario_names(const Json& scenario) {
  const auto replica = [&](const char* key) {
    return number_at(scenario, (std::string("/serving/replicas/0/") + key).c_str(), 1);
  };
  std::vector<std::pair<std::string, double>> names = {{"tensor", replica("parallelism/tensor")},
                                                       {"pipeline", replica("parallelism/pipeline")},
                                                       {"expert", replica("parallelism/expert")},
                                                       {"replicas", replica("count")},
                                                       {"devices", devices_of(scenario)}};
  for (const char* pointer :
       {"/seed", "/workload/arrivals/rate_per_s", "/workload/arrivals/concurrency",
        "/workload/requests/count", "/serving/replicas/0/batching/max_batch_requests",
        "/serving/replicas/0/batching/max_batch_tokens", "/serving/replicas/0/kv_cache/memory_fraction"})
    if (const Json* found = at(scenario, pointer))
      if (const auto number = as_number(*found))
        names.emplace_back(std::string(pointer).substr(std::string(pointer).rfind('/') + 1), *number);
  return names;
}

Constraint::Constraint(std::string text) : text_(std::move(text)) {
  try {
    mu::Parser parser = parser_of(text_);
    for (const auto& [name, place] : parser.GetUsedVar()) names_.push_back(name);
  } catch (const mu::Parser::exception_type& e) {
    throw std::runtime_error(e.GetMsg());
  }
}

bool Constraint::holds(const Varied& varied, const Json& scenario) const {
  const std::map<std::string, Meaning> known = meanings(varied, scenario);
  try {
    mu::Parser parser = parser_of(text_);
    for (const std::string& name : names_) {
      const auto it = known.find(name);
      if (it == known.end()) {
        std::vector<std::string> list;
        for (const auto& [word, value] : scenario_names(scenario)) list.push_back(word);
        for (const auto& [pointer, value] : varied)
          if (as_number(value) && !ends_of(pointer).empty()) list.push_back(ends_of(pointer)[0]);
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
        throw std::runtime_error(no_such("number", name, list));
      }
      if (it->second.pointers > 1)
        throw std::runtime_error(
            fmt::format("\"{}\" may mean {} varied pointers; write more of the one you mean, such as "
                        "replicas_0_count",
                        name, it->second.pointers));
      parser.DefineConst(name, it->second.value);  // a constant: tensor = 4 is an error, not an assignment
    }
    return parser.Eval() != 0;
  } catch (const mu::Parser::exception_type& e) {
    throw std::runtime_error(e.GetMsg());
  }
}

}  // namespace weir
