#pragma once
// What prompts of a recorded run have in common. The record has no texts: it is told from the lengths.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/studies/validation/sessions/recorded.h"

namespace weir {

struct Beginning {
  std::optional<std::size_t> request;  // an earlier one of the run, with whose prompt this one begins
  std::int64_t tokens = 0;             // for so many
};

// One a request, in their order. Conversations share nothing with each other, sub-agents with their parents
// neither.
std::vector<Beginning> beginnings(const RecordedRun& run);

// Of a turn after that of so many tokens, before the answer: re-rendered templates change its end.
inline std::int64_t kept_of(std::int64_t input_tokens) {
  return std::max<std::int64_t>(0, input_tokens - 64);
}

}  // namespace weir
