#pragma once
// Measured attention of one kind of heads: decodes and prompts as their tables have them, what lies outside
// scaled as the analytic device scales. Used by profiled.cpp alone.
#include "devices/device.h"
#include "devices/profile/profile_bundle.h"

namespace weir {

class ProfiledAttention {
 public:
  // `burst` is the analytic device as the tables' benchmarks saw it.
  ProfiledAttention(const AttentionTimes& times, std::shared_ptr<const Device> analytic, const Device& burst);

  // Prompts or decodes that the tables lack cost as on the analytic device.
  bool has_prompts() const { return !times_.mixed.knots.empty() || !prompts_.empty(); }
  bool has_decodes() const { return !times_.decode.knots.empty(); }
  const std::optional<MeasuredHeads>& of() const { return times_.of; }

  // Where the analytic device takes `here`.
  double seconds(const KernelWork& work, int unit, Seconds here) const;
  AffineKernelCost decodes(const KernelWork& work, int unit) const;

 private:
  double of_wide_decodes(KernelWork work, int unit, Seconds here) const;
  double of_decodes(const KernelWork& work, int unit, Seconds here) const;
  double beside_a_prompt(const KernelWork& work, int unit, Seconds here) const;
  double of_engine(const KernelWork& work, int unit, Seconds here) const;

  const AttentionTimes& times_;
  std::shared_ptr<const Device> analytic_;
  LogGrid prompts_;  // measured over analytic, by prompts and tokens of each
};

}  // namespace weir
