#pragma once
// How many of a step's drafts the model accepts: the first ones, up to the first that it would not have
// written itself. Presets are measured lengths, a catalog of their own. Pure.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/core/units.h"

namespace weir {

class Acceptance {
 public:
  Acceptance() = default;  // of no drafts
  // By position: the rate at which a draft is accepted if all before it were. In [0, 1].
  explicit Acceptance(std::span<const double> rates);
  // One rate r at every one of `drafts` positions, such that 1 + r + ... + r^drafts is the mean number of
  // tokens of a step, its own one included. `length` in [1, drafts + 1].
  static Acceptance of_length(double length, std::int64_t drafts);

  std::int64_t drafts() const { return static_cast<std::int64_t>(reached_.size()); }
  double length() const;  // tokens of a step in the mean, its own one included
  // The drafts accepted in a step that drew these random bits.
  std::int64_t accepted(std::uint64_t bits) const {
    const double drawn = static_cast<double>(bits >> 11) * 0x1p-53;  // in [0, 1)
    std::int64_t n = 0;
    while (n < drafts() && drawn < reached_[static_cast<std::size_t>(n)]) ++n;
    return n;
  }

 private:
  std::vector<double> reached_;  // chance that a draft and all before it are accepted, by position
};

// Measured mean lengths at 1, 2, ... drafts (models/llm/acceptance/*.json, each with its source).
struct AcceptancePreset {
  std::string name;                   // FILE/mode, glm5.2_mtp.yaml/thinking_on
  std::string model;                  // as who measured it calls it
  std::vector<std::string> measures;  // names of the catalog that are this model
  std::vector<double> lengths;
};
const std::vector<AcceptancePreset>& acceptance_presets();

}  // namespace weir
