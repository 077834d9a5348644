#pragma once
// A recorded run as a sessions file that `weir run` plays (docs/kv_reuse.md, "Recorded runs"): what was
// recorded, and beside it what was not, as rows that are not measured: the histories that agents came with,
// and requests that had not ended when the run did.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/studies/validation/sessions/recorded.h"

namespace weir {

struct ReplayRow {
  std::string session;
  std::int64_t turn = 0;
  std::vector<std::size_t> after = {};  // rows; empty: it comes at the start
  double gap_s = 0;
  std::int64_t input_tokens = 1, output_tokens = 1;
  std::optional<std::size_t> begins_with = {};  // a row
  std::int64_t shared_tokens = 0;
  std::optional<std::size_t> recorded = {};  // of the run's requests; none: it is not measured

  std::string name() const { return session + ":" + std::to_string(turn); }
};

// The seed draws the order in which histories are computed before the start.
std::vector<ReplayRow> replay_rows(const RecordedRun& run, std::uint64_t seed);
std::string sessions_csv(const std::vector<ReplayRow>& rows);

}  // namespace weir
