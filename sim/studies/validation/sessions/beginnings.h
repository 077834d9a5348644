#pragma once
// Prompts of a recorded run begin alike so far. The record has no texts: the lengths tell.
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

// The next turn begins with so much of a prompt: re-rendered templates change its last 64 tokens
// (found on the recorded runs by those who described them: docs/kv_reuse.md).
inline std::int64_t kept_of(std::int64_t input_tokens) {
  return std::max<std::int64_t>(0, input_tokens - 64);
}

}  // namespace weir
