#include "models/latency/expert_load.h"

#include <algorithm>
#include <boost/random/uniform_01.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <queue>

#include "sim/core/cache/made_once.h"
#include "sim/core/rng.h"

namespace weir {
namespace {

// Layers of a popularity of their own that a load is the mean of. A mean of 16 has a standard error of 3 to 5
// % (exponent 1.2, 256 experts over 8 to 64 ranks); four times as many would take 70 ms to draw.
constexpr int layers = 16;
// Up to 2^20 tokens of a step; beyond, the shape stays.
constexpr int powers = 20;
// The collector's range of loads where tokens are few (0.01 to 2); where they are many, 1 to 0.8 tokens.
constexpr double least_range = 200, range_per_token = 0.8;

// The value below which a share `u` of a density x^-exponent between 1 and `range` lies.
double power_law(double u, double exponent, double range) {
  const double e = 1 - exponent;
  if (std::abs(e) < 1e-9) return std::pow(range, u);
  return std::pow(1 + u * (std::pow(range, e) - 1), 1 / e);
}

// An expert takes a token once: no share of the copies is larger than 1 / active. What is above goes to the
// others in proportion.
void cap_shares(std::vector<double>& shares, double cap) {
  for (;;) {
    double excess = 0, rest = 0;
    for (const double s : shares) s > cap ? excess += s - cap : s < cap ? rest += s : 0;
    if (excess <= 1e-12 || rest <= 0) return;
    for (double& s : shares) s = s >= cap ? cap : s * (1 + excess / rest);
  }
}

// Shares of a step's copies, an expert each, that sum to 1.
std::vector<double> skewed_shares(const ExpertLoadSpec& spec, const std::vector<double>& draws,
                                  double tokens) {
  std::vector<double> shares;
  for (const double u : draws)
    shares.push_back(power_law(u, spec.exponent, std::max(least_range, range_per_token * tokens)));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& s : shares) s /= sum;
  cap_shares(shares, 1.0 / spec.active);
  return shares;
}

std::vector<double> drawn(const ExpertLoadSpec& spec, int layer) {
  Rng rng = random_stream(spec.seed, "expert popularity " + std::to_string(layer));
  std::vector<double> draws(static_cast<std::size_t>(spec.experts));
  for (double& u : draws) u = boost::random::uniform_01<double>()(rng);
  return draws;
}

// Few copies on cold experts read as many weights as many copies on hot ones: each maximum is a rank's own.
RankLoad fullest_of(const ExpertPlacement& placement, const std::vector<double>& shares,
                    const ExpertLoadSpec& spec, double tokens) {
  RankLoad fullest;
  for (const auto& slots : placement.ranks) {
    double copies = 0, hit = 0;
    for (const int expert : slots) {
      const auto e = static_cast<std::size_t>(expert);
      const double chosen = shares[e] * spec.active / placement.copies[e];  // by a token
      copies += chosen * tokens;
      hit += 1 - std::pow(1 - std::min(1.0, chosen), tokens);
    }
    fullest.copies = std::max(fullest.copies, copies);
    fullest.hit = std::max(fullest.hit, hit);
  }
  return fullest;
}

}  // namespace

double expected_active_experts(const ExpertShape& experts, double tokens) {
  const double missed = 1 - static_cast<double>(experts.active) / static_cast<double>(experts.total);
  return static_cast<double>(experts.here) * (1 - std::pow(missed, tokens));
}

RankLoad even_load(const ExpertShape& experts, double tokens) {
  const double share = static_cast<double>(experts.here) / static_cast<double>(experts.total);
  return {tokens * static_cast<double>(experts.active) * share, expected_active_experts(experts, tokens), 1};
}

ExpertPlacement place_in_order(int experts, int ranks) {
  ExpertPlacement placement{std::vector<std::vector<int>>(static_cast<std::size_t>(ranks)),
                            std::vector<int>(static_cast<std::size_t>(experts), 1)};
  int expert = 0;
  for (int rank = 0; rank < ranks; ++rank)
    for (int slots = experts / ranks + (rank < experts % ranks); slots > 0; --slots)
      placement.ranks[static_cast<std::size_t>(rank)].push_back(expert++);
  return placement;
}

ExpertPlacement place_greedily(const std::vector<double>& loads, int ranks, int redundant) {
  const int experts = static_cast<int>(loads.size());
  ExpertPlacement placement{std::vector<std::vector<int>>(static_cast<std::size_t>(ranks)),
                            std::vector<int>(loads.size(), 1)};
  const auto load = [&](int e) {
    return loads[static_cast<std::size_t>(e)] / placement.copies[static_cast<std::size_t>(e)];
  };
  // Heaviest first, of equals the lower number: the same result everywhere.
  const auto lighter = [&](int a, int b) { return load(a) != load(b) ? load(a) < load(b) : a > b; };
  std::vector<int> heap(loads.size());
  std::iota(heap.begin(), heap.end(), 0);
  std::make_heap(heap.begin(), heap.end(), lighter);
  for (int i = 0; i < redundant; ++i) {
    std::pop_heap(heap.begin(), heap.end(), lighter);
    ++placement.copies[static_cast<std::size_t>(heap.back())];
    std::push_heap(heap.begin(), heap.end(), lighter);
  }
  std::sort(heap.begin(), heap.end(), [&](int a, int b) { return lighter(b, a); });
  using Filled = std::pair<double, int>;  // load, rank
  std::priority_queue<Filled, std::vector<Filled>, std::greater<>> emptiest;
  for (int rank = 0; rank < ranks; ++rank) emptiest.emplace(0.0, rank);
  const auto slots = static_cast<std::size_t>((experts + redundant) / ranks);
  int with_one_more = (experts + redundant) % ranks;
  for (const int expert : heap)
    for (int copy = 0; copy < placement.copies[static_cast<std::size_t>(expert)]; ++copy) {
      for (;; emptiest.pop()) {  // ranks without a free slot leave
        const auto held = placement.ranks[static_cast<std::size_t>(emptiest.top().second)].size();
        if (held < slots || (held == slots && with_one_more > 0)) break;
      }
      const auto [filled, rank] = emptiest.top();
      emptiest.pop();
      auto& held = placement.ranks[static_cast<std::size_t>(rank)];
      with_one_more -= held.size() == slots;
      held.push_back(expert);
      emptiest.emplace(filled + load(expert), rank);
    }
  return placement;
}

ExpertLoads::ExpertLoads(const ExpertLoadSpec& spec) : spec_(spec) {
  if (spec.distribution == ExpertDistribution::uniform || spec.ranks <= 1) return;
  points_.resize(powers + 1);
  for (int layer = 0; layer < layers; ++layer) {
    const std::vector<double> draws = drawn(spec, layer);
    for (int power = 0; power <= powers; ++power) {
      const double tokens = std::exp2(power);
      const std::vector<double> shares = skewed_shares(spec, draws, tokens);
      const RankLoad load = fullest_of(spec.redundant > 0 ? place_greedily(shares, spec.ranks, spec.redundant)
                                                          : place_in_order(spec.experts, spec.ranks),
                                       shares, spec, tokens);
      Point& mean = points_[static_cast<std::size_t>(power)];
      mean.copies += load.copies / layers;
      mean.hit += load.hit / layers;
    }
  }
}

int ExpertLoads::slots_per_rank() const {
  return (spec_.experts + spec_.redundant + spec_.ranks - 1) / spec_.ranks;
}

// Between powers of two linearly in tokens, so that no more experts are hit than copies arrive; beyond the
// last in proportion.
RankLoad ExpertLoads::fullest(double tokens) const {
  if (points_.empty() || tokens <= 0) return even(tokens);
  Point at;
  const auto last = static_cast<double>(points_.size() - 1);
  if (tokens <= 1) {
    at = {points_[0].copies * tokens, points_[0].hit * tokens};
  } else if (std::log2(tokens) >= last) {
    at = {points_.back().copies * tokens / std::exp2(last), points_.back().hit};
  } else {
    const auto power = static_cast<std::size_t>(std::ilogb(tokens));
    const Point &low = points_[power], &high = points_[power + 1];
    const double weight = std::ldexp(tokens, -static_cast<int>(power)) - 1;
    at = {low.copies + weight * (high.copies - low.copies), low.hit + weight * (high.hit - low.hit)};
  }
  return {at.copies, at.hit, at.copies * spec_.ranks / (tokens * spec_.active)};
}

// Redundant experts halve the tokens of some slots; which ones does not matter to a rank's sum.
RankLoad ExpertLoads::even(double tokens) const {
  const double experts = spec_.experts, doubled = std::min(spec_.redundant, spec_.experts);
  const double chosen = static_cast<double>(spec_.active) / experts;
  const double copies = 1 + spec_.redundant / std::max(1.0, doubled);  // of each of these
  const double single = 1 - std::pow(1 - chosen, tokens), shared = 1 - std::pow(1 - chosen / copies, tokens);
  return {tokens * spec_.active / spec_.ranks,
          ((experts - doubled) * single + doubled * copies * shared) / spec_.ranks, 1};
}

const ExpertLoads& expert_loads(const ExpertLoadSpec& spec) {
  static MadeOnce<ExpertLoadSpec, std::unique_ptr<const ExpertLoads>> all;
  return *all.of(spec, [&] { return std::make_unique<const ExpertLoads>(spec); });
}

}  // namespace weir
