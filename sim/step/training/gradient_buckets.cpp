#include "sim/step/training/gradient_buckets.h"

#include <algorithm>

namespace weir {

std::vector<GradientBucket> gradient_buckets(const TrainingGraph& graph, Bytes size) {
  const auto& operators = graph.operators;
  std::vector<std::vector<std::size_t>> readers(graph.tensors.size());
  for (std::size_t v = 0; v < boost::num_vertices(operators); ++v) {
    if (operators[v].phase != TrainingPhase::update) continue;
    for (const int tensor : operators[v].reads) readers[static_cast<std::size_t>(tensor)].push_back(v);
  }
  std::vector<GradientBucket> buckets;
  for (std::size_t v = 0; v < boost::num_vertices(operators); ++v) {
    if (operators[v].phase != TrainingPhase::backward) continue;
    for (const int tensor : operators[v].writes) {
      const auto& readers_of_it = readers[static_cast<std::size_t>(tensor)];
      if (readers_of_it.empty()) continue;
      if (buckets.empty() || buckets.back().bytes >= size) buckets.emplace_back();
      GradientBucket& bucket = buckets.back();
      bucket.bytes += graph.tensors[static_cast<std::size_t>(tensor)].bytes();
      bucket.makers.push_back(v);
      bucket.readers.insert(bucket.readers.end(), readers_of_it.begin(), readers_of_it.end());
    }
  }
  for (GradientBucket& bucket : buckets)
    for (std::vector<std::size_t>* vertices : {&bucket.makers, &bucket.readers}) {
      std::ranges::sort(*vertices);
      vertices->erase(std::unique(vertices->begin(), vertices->end()), vertices->end());
    }
  return buckets;
}

}  // namespace weir
