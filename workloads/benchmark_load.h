#pragma once
// How a load generator sends requests, in the words of vLLM's benchmark: its --request-rate (infinite: all at
// once), its --burstiness (the shape of gamma gaps: 1 is Poisson, infinite are even gaps) and its
// --max-concurrency.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace weir {

struct BenchmarkLoad {
  double request_rate = std::numeric_limits<double>::infinity();  // a second
  double burstiness = 1;
  std::optional<std::int64_t> concurrency;                     // none: no bound
  std::string unknown = "its requests are not a benchmark's";  // why the file does not say it; "" if it does
};

}  // namespace weir
