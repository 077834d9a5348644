#pragma once
// Neurons of a block by how often they are active. Placement policies take them in this order; to a solver a
// bucket of neighbours in it is one integer (how many of them go somewhere), as LLaMA2-70B would have 26.5
// million binary variables. Pure.
#include <cstdint>
#include <span>
#include <vector>

namespace weir {

// Indices of the neurons, the most often active first; of equals the lower index.
std::vector<std::uint32_t> hottest_first(std::span<const float> frequencies);

struct FrequencyBucket {
  std::size_t begin, end;  // places in hottest_first
  double frequency;        // the mean of its neurons
  std::size_t size() const { return end - begin; }
};

// At most so many buckets, hottest first, none with more than twice its share of the neurons or of the
// block's activations (but for one neuron): the hot are told apart, who have most of the time, and so are the
// cold, who take most of the room. One a neuron where there are as many buckets.
std::vector<FrequencyBucket> frequency_buckets(std::span<const float> frequencies,
                                               std::span<const std::uint32_t> hottest_first,
                                               std::size_t buckets);

}  // namespace weir
