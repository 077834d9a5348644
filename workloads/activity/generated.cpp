// The keys of activity that is drawn, and what cannot be asked for together.
#include <fmt/format.h>

#include <cmath>

#include "workloads/activity/generated_source.h"

namespace weir {
namespace {

class GeneratedActivity final : public NeuronActivity {
 public:
  explicit GeneratedActivity(Params& params) {
    wanted_.density =
        params.number({"density",
                       "share of the neurons that a token activates; Hermes states 70 to 90 % sparsity, of "
                       "which 0.2 (for LLaMA2 and Falcon) is the middle and 0.1 (for OPT) the end"},
                      {least_density, 1});
    wanted_.hot_share = params.number(
        {"hot_share", "share of all activations that are of the hottest 20 % (Hermes, Section III-A: 0.8)"},
        {hot_neurons, 1}, 0.8);
    wanted_.far_similarity = params.number(
        {"far_similarity",
         "share of a token's active neurons that a far one activates too (Hermes, Figure 4a: 0.7)"},
        fraction, 0.7);
    drift_ =
        params.number({"drift",
                       "share of the neurons whose frequency in a sequence is another one's than in the "
                       "profile; ESTIMATE: 0.3, between none and the 0.65 that \"52 % of hot neurons vary\" "
                       "(Hermes, Section III-B) may mean"},
                      {0, 1}, 0.3);
    if (params.describing() || !fits(params)) return;
    curve_ = fitted_curve(wanted_);
    tell_misses(params);
  }

  std::unique_ptr<const ActivitySource> bind(const NeuronCounts& counts) const override {
    return generated_source(counts, curve_, drift_);
  }

 private:
  static constexpr double hot_neurons = 0.2;
  static constexpr double least_density = 0.001;  // below it steps of 2^-16 are no frequencies

  bool fits(Params& params) const {
    const double most = hot_neurons / wanted_.hot_share;
    const bool possible = wanted_.density <= most, similar = wanted_.far_similarity >= wanted_.density;
    if (!possible)
      params.fail(
          "density",
          fmt::format("expected at most {:.4g}, for a neuron is active at most always and the hottest 20 % "
                      "have {:g} of all activations (hot_share), got {:g}",
                      most, wanted_.hot_share, wanted_.density));
    if (!similar)
      params.fail("far_similarity", fmt::format("expected at least the density, {:g}, got {:g}",
                                                wanted_.density, wanted_.far_similarity));
    return possible && similar;
  }

  // A user is told where the statistics cannot be had together.
  void tell_misses(Params& params) const {
    constexpr double told_from = 0.01;
    const ActivityStatistics has = curve_.statistics();
    if (std::abs(has.hot_share - wanted_.hot_share) < told_from &&
        std::abs(has.far_similarity - wanted_.far_similarity) < told_from)
      return;
    params.note(
        "", fmt::format("no frequencies have density {:g}, hot_share {:g} and far_similarity {:g} together: "
                        "drawn with {:.3f} and {:.3f} instead of the latter two",
                        wanted_.density, wanted_.hot_share, wanted_.far_similarity, has.hot_share,
                        has.far_similarity));
  }

  ActivityStatistics wanted_;
  FrequencyCurve curve_;
  double drift_ = 0;
};

}  // namespace

std::shared_ptr<const NeuronActivity> make_generated_activity(Params& params) {
  return std::make_shared<GeneratedActivity>(params);
}

}  // namespace weir
