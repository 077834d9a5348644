#include "policies/placement/neurons/frequency_buckets.h"

#include <algorithm>
#include <numeric>

namespace weir {

std::vector<std::uint32_t> hottest_first(std::span<const float> frequencies) {
  std::vector<std::uint32_t> order(frequencies.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, [&](auto a, auto b) { return frequencies[a] > frequencies[b]; });
  return order;
}

std::vector<FrequencyBucket> frequency_buckets(std::span<const float> frequencies,
                                               std::span<const std::uint32_t> hottest_first,
                                               std::size_t buckets) {
  const std::size_t neurons = frequencies.size();
  double all = 0;
  for (const float frequency : frequencies) all += static_cast<double>(frequency);
  std::vector<FrequencyBucket> result;
  double before = 0;  // of the activations
  std::size_t last = buckets;
  for (std::size_t i = 0; i < neurons; ++i) {
    const auto frequency = static_cast<double>(frequencies[hottest_first[i]]);
    const double rank_share = static_cast<double>(i) / static_cast<double>(neurons),
                 share = all > 0 ? (rank_share + before / all) / 2 : rank_share;
    const std::size_t bucket =
        buckets >= neurons
            ? i
            : std::min(buckets - 1, static_cast<std::size_t>(share * static_cast<double>(buckets)));
    if (bucket != last) result.push_back({i, i, 0});
    last = bucket;
    ++result.back().end;
    result.back().frequency += frequency;
    before += frequency;
  }
  for (FrequencyBucket& bucket : result) bucket.frequency /= static_cast<double>(bucket.size());
  return result;
}

}  // namespace weir
