#pragma once
// How often requests come, where a scenario lets that be turned: `rate_per_s` of its arrivals, or
// `rate_scale` of a trace, whose own rate is that of its logged arrivals. The capacity search turns it.
#include <string>

#include "sim/core/params.h"

namespace weir {

class OfferedLoad {
 public:
  static constexpr double most_scaled =
      1e6;  // times a trace's own rate, and its inverse: what arrivals allow

  // Reads a trace. Throws ConfigError, at "", of arrivals without a rate.
  OfferedLoad(const Json& scenario, const std::string& file);

  double rate_per_s() const { return rate_of(scale_); }  // as the scenario has it
  bool traced() const { return key_ == std::string("rate_scale"); }
  double scale_of(double rate_per_s) const { return rate_per_s / traced_per_s_; }
  double rate_of(double scale) const { return scale * traced_per_s_; }

  // Sets it, and stretches what the scenario says of the run's length as it stretches the arrivals, so that a
  // run at a low rate is not cut short of its requests.
  void set(Json& scenario, double rate_per_s) const;

 private:
  const char* key_ = "rate_per_s";
  double scale_ = 0, traced_per_s_ = 1;
};

}  // namespace weir
