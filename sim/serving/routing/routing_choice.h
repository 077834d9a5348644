#pragma once
// A choice of the router, for a listener that is asked why.
#include <cstdint>
#include <span>
#include <vector>

#include "policies/routing/routing.h"
#include "sim/core/units.h"

namespace weir {

struct RoutingChoice {
  std::int32_t request;
  Seconds now;
  bool after_prompt;                   // it goes on there, with a prompt that was computed elsewhere
  std::vector<std::int32_t> replicas;  // that could take it
  std::size_t chosen;                  // among them
  std::vector<RoutingScores> scores;   // what the policy goes by, in their order
};

class ChoiceListener {
 public:
  virtual ~ChoiceListener() = default;
  virtual bool hears(std::int32_t request) const = 0;
  virtual void chose(const RoutingChoice& choice) = 0;
};

}  // namespace weir
