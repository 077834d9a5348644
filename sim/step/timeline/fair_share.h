#pragma once
// Max-min fair speeds of flows that draw from several resources at once: Dominant Resource Fairness (Ghodsi
// et al., NSDI 2011). A flow's dominant share is the largest fraction of any one capacity it uses; all shares
// rise together until a flow runs at full speed or one of its resources is full. With one resource this is
// max-min fair bandwidth. The timeline calls it whenever the set of drawing operators changes and their
// demand exceeds a capacity.
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "sim/core/units.h"

namespace weir {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

struct Flow {
  std::span<const int> resources;
  std::span<const BytesPerSecond> rates;  // from each of them, at full speed
  double scale = 1;                       // full speed draws scale x rates
  double speed = 0;                       // the answer, in (0, 1]
};

class FairShare {
 public:
  explicit FairShare(std::vector<BytesPerSecond> capacities);
  // Every rate finite and not negative; zero where the capacity is.
  void share(std::span<Flow> flows);

 private:
  void measure(std::span<Flow> flows);
  void add_load(const Flow& flow, double dominant);
  bool saturated(const Flow& flow, double level) const;
  void settle(Flow& flow, double speed);

  std::vector<double> capacity_, used_,
      load_;                      // load: bytes/s per unit of dominant share, of flows still rising
  std::vector<double> dominant_;  // of each flow, at full speed; 0 once its speed is known
  std::vector<std::size_t> stopping_;
};

}  // namespace weir
