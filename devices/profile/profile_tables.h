#pragma once
// Measured kernel times as curves and grids: plain numbers, no operators and no files. Filled by
// profile_bundle.cpp, read by profiled.cpp.
#include <algorithm>
#include <vector>

namespace weir {

// Knots in ascending order with a value each; linear between them, beyond the last from the last two where
// these rise, and the first value before the first.
struct Curve {
  std::vector<double> x, y;

  void add(double at, double value);  // in any order; sort() before at()
  bool sort();                        // false if a knot was given twice
  struct Point {
    double value, slope;  // the slope to the right
    double next;          // the next knot, or infinity
  };
  Point at(double wanted) const;
};

// Two neighbours among knots and the share of the upper one; the same twice at and before the first knot.
struct Bracket {
  std::size_t low, high;
  double share;
};
Bracket bracket(const std::vector<double>& knots, double wanted);

// Curves over one more axis; ragged: each knot has a list of its own below it.
template <class Below>
struct Axis {
  std::vector<double> knots;
  std::vector<Below> below;

  Below& operator[](double knot) {
    const auto it = std::lower_bound(knots.begin(), knots.end(), knot);
    const auto i = it - knots.begin();
    if (it == knots.end() || *it != knot) {
      knots.insert(it, knot);
      below.insert(below.begin() + i, Below{});
    }
    return below[static_cast<std::size_t>(i)];
  }
};

using DecodeTimes = Axis<Curve>;  // decodes, then their KV length
// New prompt tokens, tokens before them, decodes, their KV length.
using MixedTimes = Axis<Axis<DecodeTimes>>;

// Two points of the decodes' KV length at once: the mean and the longest.
struct TimePair {
  double mean = 0, longest = 0;
};
TimePair interpolate(const DecodeTimes& times, double decodes, double mean, double longest);
TimePair interpolate(const MixedTimes& times, double chunk, double context, double decodes, double mean,
                     double longest);

}  // namespace weir
