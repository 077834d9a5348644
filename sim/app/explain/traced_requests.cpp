#include "sim/app/explain/traced_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <sstream>

#include "sim/core/errors.h"

namespace weir {
namespace {

// Some 100 bytes a step that is played by itself, and six a request in it: up to a few hundred MB.
constexpr std::int64_t most_traced_tokens = 20'000'000;

std::int32_t number_of(const std::string& word, std::int32_t requests, std::vector<Problem>& problems) {
  std::int32_t number = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  if (whole && number >= 0 && number < requests) return number;
  problems.push_back({"", fmt::format("expected a request from 0 to {} or all (got \"{}\")", requests - 1,
                                      shortened(word))});
  return -1;
}

void check_size(const std::vector<std::int32_t>& requests, const Workload& workload) {
  std::int64_t tokens = 0;
  for (const std::int32_t request : requests)
    tokens += workload.requests[static_cast<std::size_t>(request)].output_tokens;
  if (tokens > most_traced_tokens)
    throw ConfigError("--trace", "",
                      fmt::format("a step a token, at worst: expected requests of at most {} output tokens "
                                  "together, got {}",
                                  most_traced_tokens, tokens));
}

}  // namespace

std::vector<std::int32_t> traced_requests(const std::string& asked, const Scenario& scenario) {
  if (!scenario.serves()) throw ConfigError("--trace", "", "expected a scenario that serves requests");
  const auto count = static_cast<std::int32_t>(scenario.workload.requests.size());
  std::vector<std::int32_t> requests;
  if (asked == "all") {
    requests.resize(static_cast<std::size_t>(count));
    std::iota(requests.begin(), requests.end(), 0);
  } else {
    std::vector<Problem> problems;
    std::istringstream words(asked);
    for (std::string word; std::getline(words, word, ',');)
      requests.push_back(number_of(word, count, problems));
    if (asked.empty() || asked.back() == ',') number_of("", count, problems);
    if (!problems.empty()) throw ConfigError("--trace", problems);
    std::ranges::sort(requests);
    requests.erase(std::unique(requests.begin(), requests.end()), requests.end());
  }
  check_size(requests, scenario.workload);
  return requests;
}

}  // namespace weir
