#include "sim/app/calibrate/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weir {
namespace {

// TPOT: what Weir's presets leave of a dense server's on average (docs/accuracy.md); less is no reason to
// change a constant. ESTIMATE: TTFT counts for a front end that is far off and little else. It has queues in
// it, and fitted at its 18 % it makes TPOT worse (docs/calibration/README.md).
constexpr double tpot_noise = 0.036, ttft_noise = 0.6;

// A difference of less than that is lost in how batches happen to fall.
constexpr double tried = 0.25;  // of a usual change

double error_in_noise(const Observation& seen, double simulated) {
  return std::log(simulated / seen.ms) / (seen.what == TimeOf::output_token ? tpot_noise : ttft_noise);
}

}  // namespace

CalibrationFit::CalibrationFit(const std::vector<CalibrationCase>& cases, ConstantValues start,
                               std::vector<bool> may_change, RunTrials run)
    : cases_(cases),
      start_(std::move(start)),
      may_change_(std::move(may_change)),
      run_(std::move(run)),
      before_(times_under(start_)) {
  find_slopes();
}

CaseTimes CalibrationFit::times_under(const ConstantValues& values) const {
  std::vector<CalibrationTrial> trials;
  for (std::size_t i = 0; i < cases_.size(); ++i) trials.push_back({i, values});
  return run_(trials);
}

void CalibrationFit::find_slopes() {
  std::vector<CalibrationTrial> trials;
  for (std::size_t k = 0; k < start_.size(); ++k)
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      trials.push_back({i, start_});
      if (may_change_[k]) trials.back().values[k] += tried * server_constants()[k].usual;
    }
  const CaseTimes times = run_(trials);
  slopes_.assign(start_.size(), before_);
  for (std::size_t k = 0; k < start_.size(); ++k)
    for (std::size_t i = 0; i < cases_.size(); ++i)
      for (std::size_t o = 0; o < before_[i].size(); ++o)
        slopes_[k][i][o] = (times[k * cases_.size() + i][o] - before_[i][o]) / tried;
}

CalibrationFit::Rows CalibrationFit::rows(const CaseTimes& times, const ChosenObservations& chosen) const {
  Rows all;
  for (std::size_t i = 0; i < cases_.size(); ++i)
    for (std::size_t o = 0; o < cases_[i].observations.size(); ++o) {
      if (!chosen(i, o)) continue;
      const Observation& seen = cases_[i].observations[o];
      all.offsets.push_back(error_in_noise(seen, times[i][o]));
      auto& effects = all.effects.emplace_back();
      for (const CaseTimes& slope : slopes_)
        effects.push_back(slope[i][o] / times[i][o] /
                          (seen.what == TimeOf::output_token ? tpot_noise : ttft_noise));
    }
  return all;
}

// The change that a constant has made from the start is a row of its own, and counts as a measurement does.
ConstantValues CalibrationFit::nearer(const ConstantValues& at, Rows rows,
                                      const std::vector<bool>& is_free) const {
  const std::vector<ServerConstant>& constants = server_constants();
  std::vector<double> least, most;
  for (std::size_t k = 0; k < at.size(); ++k) {
    const std::pair<double, double> bounds = std::minmax({(constants[k].least - at[k]) / constants[k].usual,
                                                          (constants[k].most - at[k]) / constants[k].usual});
    least.push_back(bounds.first);
    most.push_back(bounds.second);
    rows.offsets.push_back((at[k] - start_[k]) / constants[k].usual);
    rows.effects.emplace_back(at.size(), 0)[k] = 1;
  }
  const std::vector<double> changes = best_changes(rows.offsets, rows.effects, is_free, least, most);
  ConstantValues next = at;
  for (std::size_t k = 0; k < at.size(); ++k)
    if (is_free[k])
      next[k] = std::clamp(at[k] + changes[k] * constants[k].usual, constants[k].least, constants[k].most);
  return next;
}

double CalibrationFit::misfit(const CaseTimes& times, const ConstantValues& values,
                              const ChosenObservations& chosen) const {
  double sum = 0;
  for (const double offset : rows(times, chosen).offsets) sum += fit_loss(offset);
  for (std::size_t k = 0; k < values.size(); ++k)
    sum += fit_loss((values[k] - start_[k]) / server_constants()[k].usual);
  return std::isfinite(sum) ? sum : std::numeric_limits<double>::infinity();
}

// Times are nearly linear in the constants, so that slopes at the start serve for every step.
FittedServer CalibrationFit::fitted_to(const ChosenObservations& chosen) const {
  constexpr int most_steps = 6, most_halvings = 4;
  constexpr double near = 0.01;  // of a usual change
  FittedServer fitted{start_, told_by(rows(before_, chosen).effects), {}, before_};
  for (std::size_t k = 0; k < start_.size(); ++k)
    fitted.is_fitted.push_back(may_change_[k] && fitted.told[k].told);
  double least = misfit(before_, start_, chosen);
  for (int step = 0; step < most_steps; ++step) {
    ConstantValues next = nearer(fitted.values, rows(fitted.times, chosen), fitted.is_fitted);
    CaseTimes times = times_under(next);
    double now = misfit(times, next, chosen);
    for (int halving = 0; halving < most_halvings && now >= least; ++halving) {
      for (std::size_t k = 0; k < next.size(); ++k) next[k] = (next[k] + fitted.values[k]) / 2;
      times = times_under(next);
      now = misfit(times, next, chosen);
    }
    if (now >= least) break;
    double moved = 0;
    for (std::size_t k = 0; k < next.size(); ++k)
      moved = std::max(moved, std::abs((next[k] - fitted.values[k]) / server_constants()[k].usual));
    least = now;
    fitted.values = std::move(next);
    fitted.times = std::move(times);
    if (moved < near) break;
  }
  return fitted;
}

}  // namespace weir
