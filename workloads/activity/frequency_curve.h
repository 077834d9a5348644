#pragma once
// How often the neurons of a block are active, from the hottest to the coldest: a smooth step over rank,
//     f(x) = floor + (top - floor) / (1 + (x / knee)^steepness),   x = rank over neurons, in (0, 1),
// between the always active and the hardly ever active that a power law with a far similarity of 0.7 comes to
// (a plain power law, capped at 1, has 0.56 at density 0.1). The generator solves it once a scenario;
// who reads many scenarios finds it solved, from any thread.
namespace weir {

// Statistics of the frequencies f of a block.
struct ActivityStatistics {
  double density = 0;         // mean of f: the share of neurons that a token activates
  double hot_share = 0;       // share of all activations that are of the hottest 20 %
  double far_similarity = 0;  // sum of f^2 over sum of f: how much of a token is active again much later
};

struct FrequencyCurve {
  double floor = 0, top = 0, knee = 1, steepness = 1;

  double at(double rank) const;
  ActivityStatistics statistics() const;
};

// The curve that has the wanted density exactly and the other two as nearly as least squares can. density <=
// 0.2 / hot_share, density <= far_similarity <= 1. The hottest are always active (top is 1), where that is in
// reach of what is wanted: at density 0.2 it makes 0.8 and 0.7 0.795 and 0.704. (A top of 0.89 would have
// them exactly, and no neuron that is always there.)
FrequencyCurve fitted_curve(const ActivityStatistics& wanted);

}  // namespace weir
