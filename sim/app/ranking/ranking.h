#pragma once
// Which configuration of a sweep comes first: by the objective of its search, or by what serves most where it
// has none. The same order in the terminal and in the report.
#include <string>
#include <vector>

#include "sim/app/results/repetitions.h"

namespace weir {

struct Ranking {
  std::vector<std::string> marks;  // columns of 1 and 0: rows of 1 come first
  std::string metric;  // then the better by this, and by objective.h's tie_metric where it is equal
  std::string shown;   // the pattern of a number of it: "{} requests/s"
};

Ranking ranking_of(const ResultSet& results);
std::vector<Repeated> ranked(const ResultSet& results, const Ranking& ranking);  // best first
std::vector<std::string> metrics_of_rankings();  // all that one may ask of summaries

}  // namespace weir
