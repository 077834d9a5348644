#pragma once
// The SLO that results are judged by, for the words and the lines of tables, figures and pages: that of the
// sweep's search, or else of its scenarios.
#include <optional>
#include <string>

#include "sim/app/results/result_set.h"

namespace weir {

struct SloBounds {
  std::optional<double> ttft_ms, tpot_ms;
  int percentile = 0;  // of the requests, that a search asks of; 0: goodput counts those within

  explicit operator bool() const { return ttft_ms || tpot_ms; }
  std::optional<double> of(const std::string& metric) const;  // p99_ttft_ms: that on TTFT; none of many
};

SloBounds slo_of(const ResultSet& results);  // none where it varies
std::string in_words(const SloBounds& slo);  // "99 % of requests within TTFT 500 ms and TPOT 25 ms"

}  // namespace weir
