// The figures that every engine prints when it starts, in words.
#include <fmt/format.h>

#include <cmath>

#include "sim/app/output/text_grid.h"
#include "sim/app/output/writers.h"

namespace weir {
namespace {

std::string gib(Bytes bytes) {
  return fmt::format("{:.2f} GiB", bytes.value() / 1073741824.);
}

std::string in_words(const RankMemory& memory) {
  std::string words = fmt::format("{} of weights, {} of activations and runtime", gib(memory.weights),
                                  gib(memory.activations));
  if (memory.kept_by_requests > Bytes(0))
    words += fmt::format(", {} of requests' states", gib(memory.kept_by_requests));
  words += fmt::format(", {} of KV cache: {} tokens of {} B", gib(memory.kv_cache()),
                       grouped(memory.kv_tokens), grouped(std::llround(memory.kv_per_token.value())));
  if (const std::optional<double> most = memory.max_concurrency())
    words += fmt::format(", {:.2f} requests of {} tokens", *most, grouped(memory.longest));
  return words;
}

}  // namespace

std::vector<std::string> memory_in_words(const Plan& plan) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < plan.replicas.size(); ++i)
    lines.push_back((plan.replicas.size() > 1 ? fmt::format("replicas[{}], a rank: ", i) : "a rank: ") +
                    in_words(plan.replicas[i].memory));
  return lines;
}

}  // namespace weir
