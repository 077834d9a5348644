#include "sim/app/output/prompts/prompt_sources.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace weir {
namespace {

constexpr std::size_t most_periods = 60, shares = 10;

// As they stand in prompts.csv.
std::string source_name(std::size_t source) {
  return source == 0 ? "computed" : source == 1 ? "KV cache" : "tier " + std::to_string(source - 2);
}

}  // namespace

PromptSums::PromptSums(double end_s, std::size_t sources)
    : period_(end_s / most_periods), tokens_(sources, std::vector<double>(most_periods)), ttft_ms_(shares) {}

void PromptSums::add(double scheduled_s, double ttft_ms, const std::vector<double>& tokens) {
  const double all = std::accumulate(tokens.begin(), tokens.end(), 0.0);
  if (!(scheduled_s >= 0) || !(all > 0)) return;  // never scheduled
  const auto at = std::min(most_periods - 1, static_cast<std::size_t>(scheduled_s / period_));
  for (std::size_t source = 0; source < tokens.size(); ++source) tokens_[source][at] += tokens[source];
  const double found = 1 - tokens[0] / all;
  if (!std::isnan(ttft_ms))
    ttft_ms_[std::min(shares - 1, static_cast<std::size_t>(found * shares))].push_back(ttft_ms);
  any_ = true;
}

std::optional<PromptSources> PromptSums::result() && {
  if (!any_) return {};
  PromptSources result;
  double hits = 0;
  for (std::size_t at = 0; at < most_periods; ++at) {
    double all = 0;
    for (const auto& source : tokens_) all += source[at];
    if (all > 0) hits = 100 * (1 - tokens_[0][at] / all);
    result.time_s.push_back(static_cast<double>(at + 1) * period_);
    result.hit_percent.push_back(hits);
  }
  for (std::size_t source = 0; source < tokens_.size(); ++source) {
    for (double& tokens : tokens_[source]) tokens /= period_;
    result.sources.push_back(source_name(source));
  }
  result.tokens_per_s = std::move(tokens_);
  for (std::size_t share = 0; share < shares; ++share) {
    std::vector<double>& ttft = ttft_ms_[share];
    if (ttft.empty()) continue;
    const Distribution of = distribution_of(ttft);
    result.tenths.push_back({100.0 * static_cast<double>(share) / shares, ttft.size(), of.p50, of.p90});
  }
  return result;
}

}  // namespace weir
