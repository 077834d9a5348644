// Values of a result that cannot be, and latencies in it that are not read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workloads/benchmarks/result_fields.h"

namespace weir {
namespace {

constexpr double most_time_ms = 3.6e6, most_request_ms = 86.4e6, most_total = 1e15;

double most_ms(std::string_view name) {
  return name.find("e2el") != name.npos ? most_request_ms : most_time_ms;
}

// "" where the time can be.
std::string impossible(std::string_view name, double ms) {
  if (!(ms >= 0)) return fmt::format("{} of {:g} ms: no time is below 0", name, ms);
  if (ms <= most_ms(name)) return "";
  return fmt::format("{} of {:.4g} ms is {:.4g} hours: beyond {:g} it is another unit", name, ms, ms / 3.6e6,
                     most_ms(name) / 3.6e6);
}

bool is_latency(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view words[] = {"ttft",      "tpot",        "itl",           "e2e",
                                        "latency",   "latencies",   "time_to_first", "time_to_second",
                                        "time_per_", "inter_token", "inter_chunk"};
  return std::ranges::any_of(words, [&](std::string_view word) { return name.find(word) != name.npos; });
}

void find_unread(const nlohmann::json& object, const std::string& pointer, const std::set<std::string>& read,
                 std::vector<std::string>& names) {
  for (const auto& [key, value] : object.items()) {
    const std::string at = pointer + "/" + key;
    const bool numbers = value.is_number() || value.is_structured();
    if (numbers && is_latency(key) && !read.contains(at)) {
      if (std::ranges::find(names, key) == names.end()) names.push_back(key);
    } else if (value.is_object()) {
      find_unread(value, at, read, names);
    } else if (value.is_array() && !value.empty() && value.front().is_object()) {
      find_unread(value.front(), at + "/0", read, names);
    }
  }
}

}  // namespace

std::vector<std::string> unread_latencies(const nlohmann::json& object, const std::string& pointer,
                                          const std::set<std::string>& read) {
  std::vector<std::string> names;
  find_unread(object, pointer, read, names);
  return names;
}

void check_plausible(const BenchmarkResult& benchmark, const std::string& pointer,
                     std::vector<Problem>& problems) {
  for (const auto& [name, value] : benchmark.metrics) {
    const bool whole = name == "completed" || name == "failed";
    if (name.ends_with("_ms")) {
      if (const std::string what = impossible(name, value); !what.empty())
        problems.push_back({pointer, what});
    } else if (!(value >= 0 && value <= most_total) || (whole && value != std::floor(value))) {
      problems.push_back({pointer, fmt::format("{} of {:g}: expected a {}number from 0 to {:g}", name, value,
                                               whole ? "whole " : "", most_total)});
    }
  }
  std::size_t i = 0;
  for (const BenchmarkedRequest& request : benchmark.requests) {
    for (const auto& [name, ms] :
         {std::pair("TTFT", request.ttft_ms), {"TPOT", request.tpot_ms}, {"e2el", request.e2el_ms}})
      if (const std::string what = ms ? impossible(name, *ms) : ""; !what.empty())
        problems.push_back({pointer, fmt::format("request {}: {}", i, what)});
    ++i;
  }
}

}  // namespace weir
