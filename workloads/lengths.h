#pragma once
// The laws that lengths are drawn from: those a scenario gives (fixed, uniform, lognormal, gamma) and those
// of the named distributions in workloads/lengths/*.json (quantile tables and mixtures too).
#include <memory>
#include <string>
#include <vector>

#include "sim/core/params.h"
#include "sim/core/rng.h"

namespace weir {

class LengthLaw {
 public:
  virtual ~LengthLaw() = default;
  // Tokens: drawn again while beyond `max`, rounded to the nearest whole number, what is below 1 taken as 1.
  std::int64_t draw(Rng& rng) const;

 protected:
  explicit LengthLaw(double max) : max_(max) {}
  virtual double sample(Rng& rng) const = 0;
  const double max_;
};

std::shared_ptr<const LengthLaw> fixed_length(std::int64_t tokens);
// `min` and `max` of the object; null if that reported a problem.
std::shared_ptr<const LengthLaw> read_uniform(Params& params);
// `mean`, `std` (both before the redraw) and `max` of the object; null if that reported a problem.
std::shared_ptr<const LengthLaw> read_lognormal(Params& params);
std::shared_ptr<const LengthLaw> read_gamma(Params& params);
// `kind` of the object: lognormal, gamma, quantiles or mixture.
std::shared_ptr<const LengthLaw> read_length_law(Params params);

// One file of workloads/lengths/. Input and output are independent; the file says what they are in the
// source.
struct NamedLengths {
  std::string summary;
  std::shared_ptr<const LengthLaw> input, output;
};
// Throws for a name that named_lengths() (workload.h) does not list.
NamedLengths read_named_lengths(const std::string& name);

}  // namespace weir
