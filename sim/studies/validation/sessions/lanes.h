#pragma once
// The order of a recorded run: turns and sub-agents within a conversation, and the conversations
// that a lane of the load generator takes one after the other.
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/studies/validation/sessions/recorded.h"

namespace weir {

struct Waiting {
  std::vector<std::size_t> after;  // earlier requests of the run; empty: it comes at its recorded time
  double gap_s = 0;                // from the last of their ends
};

struct Lanes {
  std::vector<Waiting> waits;     // one a request
  std::vector<char> at_start;     // of each request: is its conversation one that a lane began with?
  std::vector<std::size_t> last;  // of each lane that has requests, that which ended last
};

// The first `run.lanes` conversations (with their sub-agents) start lanes; a later one follows on the lane
// whose end is the last before its start.
Lanes lanes_of(const RecordedRun& run);

}  // namespace weir
