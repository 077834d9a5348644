#pragma once
// The constraints of a sweep: "tensor * pipeline * replicas == devices", by muParser. A name is the end of a
// varied pointer that holds a number (rate_per_s, replicas_0_count), or one of scenario_names().
#include <string>
#include <vector>

#include "sim/app/sweep/sweep.h"

namespace weir {

class Constraint {
 public:
  explicit Constraint(std::string text);
  // Does it hold? Throws std::runtime_error with what is wrong with the expression.
  bool holds(const Varied& varied, const Json& scenario) const;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<std::string> names_;  // that it uses
};

// A constraint may name these beside the varied pointers: tensor, pipeline, expert, replicas, devices, ...
std::vector<std::pair<std::string, double>> scenario_names(const Json& scenario);

}  // namespace weir
