#pragma once
// A request is what a user of the served model asks: made by workloads/, moved by sim/serving, never changed
// on the way.
#include <cstdint>
#include <vector>

#include "sim/core/units.h"

namespace weir {

struct Request {
  Seconds arrival;                 // since the start of the run; of one that is sent on answers: when it is
  std::int64_t input_tokens = 0;   // prompt, >= 1
  std::int64_t output_tokens = 0;  // generated, >= 1; the first comes out of the prefill
  std::int32_t priority = 0;       // its class, as vLLM has it: a lower number is more urgent
  bool measured = true;            // false: left out of every metric
};

}  // namespace weir
