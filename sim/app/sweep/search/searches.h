#pragma once
// A sweep looks for these beside running its grid: keys "capacity", "pareto" and "cheapest" of a sweep file.
#include <optional>
#include <string>
#include <vector>

#include "sim/core/params.h"
#include "sim/serving/record/results.h"

namespace weir {

struct Lateness {  // of a request
  bool first_token = false, next_tokens = false;
};

// So many in a hundred requests are served within these times.
struct SloTarget {
  std::optional<double> ttft_ms, tpot_ms;
  std::int64_t percentile = 99;

  static SloTarget from(Params& params);
  // A failed request misses it, one of the warm-up is left out, and one of a single output token has no TPOT
  // to miss. It is not met where no request says anything of a time that is asked for.
  bool met_by(const RunResult& result) const;
  Lateness lateness_of(const RequestRecord& record) const;  // of one that is over
  std::int64_t may_be_late(std::int64_t of) const { return of * (100 - percentile) / 100; }
};

// Each point is not one simulation but the search of its highest rate within the SLO.
struct CapacitySearch {
  SloTarget slo;
  double precision = 0.02;  // the rate found is met, this much more is not
  double lowest = 0, highest = 0;
  std::optional<double> duration_s;  // of the arrivals of a probe; otherwise the scenario's count
  static CapacitySearch from(Params& params);
};

struct ParetoSearch {
  std::vector<std::string> metrics;
  std::vector<std::string> per;  // varied pointers: a front for each of their values
  static ParetoSearch from(Params& params);
};

struct CheapestSearch {
  SloTarget slo;
  std::string objective;  // by its name
  std::vector<std::string> per;
  bool give_up = false;  // a point is stopped once more requests are late than may be
  static CheapestSearch from(Params& params);
};

struct Searches {
  std::optional<CapacitySearch> capacity;
  std::optional<ParetoSearch> pareto;
  std::optional<CheapestSearch> cheapest;
  static Searches from(Params& params);  // of the sweep file itself
};

}  // namespace weir
