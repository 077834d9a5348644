#pragma once
// Fits a server's constants to its cases, and the same to a part of them, that the others may judge. Which
// constants the measurements tell is decided at the start, as everything depends on it.
#include <functional>

#include "sim/app/calibrate/cases.h"
#include "sim/app/calibrate/constants.h"
#include "sim/app/calibrate/least_squares.h"

namespace weir {

using CaseTimes = std::vector<std::vector<double>>;  // by case, by observation; ms, NaN: nothing completed

// Simulates cases by their index, each with a server of these constants; gives their times in that order.
struct CalibrationTrial {
  std::size_t of = 0;
  ConstantValues values;
};
using RunTrials = std::function<CaseTimes(const std::vector<CalibrationTrial>&)>;

// Which observations, by case and by number in it.
using ChosenObservations = std::function<bool(std::size_t of, std::size_t number)>;
inline bool every_observation(std::size_t, std::size_t) {
  return true;
}

struct FittedServer {
  ConstantValues values;
  std::vector<Told> told;       // by constant
  std::vector<bool> is_fitted;  // by constant: told, and not the scenario's own
  CaseTimes times;              // of all cases
};

class CalibrationFit {
 public:
  // `start`: as presets have it. `may_change`: what the scenario does not give itself. Simulates the start,
  // and a change of each constant from there.
  CalibrationFit(const std::vector<CalibrationCase>& cases, ConstantValues start,
                 std::vector<bool> may_change, RunTrials run);

  const CaseTimes& before() const { return before_; }
  FittedServer fitted_to(const ChosenObservations& chosen) const;

 private:
  struct Rows {
    std::vector<double> offsets;
    Effects effects;
  };
  CaseTimes times_under(const ConstantValues& values) const;
  void find_slopes();
  Rows rows(const CaseTimes& times, const ChosenObservations& chosen) const;
  ConstantValues nearer(const ConstantValues& at, Rows rows, const std::vector<bool>& is_free) const;
  double misfit(const CaseTimes& times, const ConstantValues& values, const ChosenObservations& chosen) const;

  const std::vector<CalibrationCase>& cases_;
  const ConstantValues start_;
  const std::vector<bool> may_change_;
  const RunTrials run_;
  CaseTimes before_;
  std::vector<CaseTimes> slopes_;  // by constant: ms more for a usual change of it
};

}  // namespace weir
