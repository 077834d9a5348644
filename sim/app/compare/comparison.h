#pragma once
// Runs, sweeps and what was measured side by side: which points of theirs belong together, what differs in
// their scenarios, and each metric with its ratio to the first. Computed here, shown by compare.cpp (command)
// and comparison_table.cpp.
#include <string>
#include <vector>

#include "sim/app/results/repetitions.h"

namespace weir {

enum class Verdict {
  unknown,  // without repetitions of both nobody can tell
  noise,    // the 95 % intervals overlap
  real,
};

struct ComparedMetric {
  std::string name;
  std::vector<Estimate> values;         // one a set
  double ratio(std::size_t set) const;  // to the first; NaN where it is not defined
  Verdict verdict(std::size_t set) const;
};

struct ComparedPoint {
  Varied varied;                         // the seed left out; of runs: empty
  std::vector<const Repeated*> results;  // one a set
  std::vector<ComparedMetric> metrics;   // in the order of the first set that has some
};

struct Difference {
  std::string pointer;
  std::vector<Json> values;  // one a set; null where there is none, "several" where its points differ in it
};

struct Comparison {
  std::vector<ResultSet> sets;
  std::vector<std::vector<Repeated>> repeated;  // one list a set
  std::vector<Difference> differences;
  std::vector<ComparedPoint> points;                          // those that every set has
  std::vector<std::vector<Varied>> unmatched;                 // one list a set: the rest
  bool against_measured() const { return sets[0].measured; }  // the others are held to it
  bool repetitions() const;  // any point of any set ran with two seeds or more
};

Comparison compare(std::vector<ResultSet> sets);

Json comparison_json(const Comparison& comparison);
// The table of one point has its `metrics`, all where none is named; that of many points every metric over
// all of them, then each point's `metrics`.
std::string comparison_table(const Comparison& comparison, const std::vector<std::string>& metrics,
                             std::size_t width = 100);

}  // namespace weir
