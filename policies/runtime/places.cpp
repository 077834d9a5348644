#include "policies/runtime/places.h"

#include <algorithm>

namespace weir {
namespace {

// Backlogs and free pairs are the rests of sums. What an operator would wait for is nothing where it is so
// little of the operator's own time.
constexpr double negligible = 1e-9;

Seconds wait_for_pairs(double least, const RuntimeSnapshot& now) {
  const bool free = now.waiting_for_pairs == 0 && now.free_pairs >= least * (1 - negligible);
  return free ? Seconds(0) : now.pairs;
}

Seconds wait_for_processor(OperatorPlace place, const RuntimeSnapshot& now) {
  return place == OperatorPlace::cpu ? now.cpu : place == OperatorPlace::gpu ? now.gpu : now.programmable;
}

}  // namespace

Seconds wait_for(const PlaceOption& option, const RuntimeSnapshot& now) {
  switch (option.place) {
    case OperatorPlace::fixed_function:
      return wait_for_pairs(option.least_pairs, now);
    case OperatorPlace::split:
      return std::max(wait_for_pairs(option.least_pairs, now), wait_for_processor(option.rest, now));
    default:
      return wait_for_processor(option.place, now);
  }
}

bool is_idle(const PlaceOption& option, const RuntimeSnapshot& now) {
  return wait_for(option, now) <= negligible * option.alone;
}

}  // namespace weir
