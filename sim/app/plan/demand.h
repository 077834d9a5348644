#pragma once
// The demand of a workload, whoever serves it, and the best that one replica can do: the bounds by
// which `weir plan` leaves out what cannot meet the SLO before it runs. Both err to the deployment's favour.
#include <cstdint>
#include <optional>

#include "sim/app/sweep/search/searches.h"
#include "sim/plan/plan.h"

namespace weir {

struct Demand {
  std::int64_t requests = 0;
  double input_tokens = 0, output_tokens = 0;  // of all requests
  double context = 0;                          // that a decode attends to, on the mean over output tokens
  // As many requests as may be late have prompts as long as this, or longer.
  std::int64_t long_prompt = 0;
  std::int64_t longest = 0;      // input and output of one request
  std::optional<double> span_s;  // of arrivals; none where requests wait for others
  bool sessions = false;         // requests wait for one another's answers
  bool shares_prefixes = false;  // prompts need not be computed whole
  bool in_generation = false;    // or not at all

  double mean_output() const { return output_tokens / static_cast<double>(requests); }
};
Demand demand_of(const Workload& workload, std::int64_t percentile);

// Bounds hold for one replica with nothing else to do. Rates are the highest within the SLO.
struct ReplicaBounds {
  double first_token_s = 0;  // of Demand::long_prompt
  double token_s = 0;        // a decode alone, with a context of one token
  double prompt_tokens_per_s = 0, decode_tokens_per_s = 0;
};
// None where steps do not follow from a batch alone (active neurons, memory channels).
std::optional<ReplicaBounds> bounds_of(const ReplicaPlan& replica, const Demand& demand,
                                       const SloTarget& slo);

}  // namespace weir
