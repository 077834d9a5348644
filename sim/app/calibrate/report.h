#pragma once
// The findings of weir calibrate, as a table and as the part "fitted" of calibration.json.
#include "sim/app/calibrate/fit.h"

namespace weir {

struct CalibrationReport {
  const std::vector<CalibrationCase>& cases;
  const CaseTimes& before;
  const FittedServer& fitted;
  const ConstantValues& start;
  const std::vector<bool>& may_change;
  CaseTimes held_out;  // each time as the fit without it has it; empty where nothing was left out
  std::string held_out_how;

  double error(TimeOf what, const CaseTimes& times) const;  // mean of |simulated / measured - 1| of cases
  CaseTimes where_held_out(CaseTimes times) const;          // NaN of the others
  bool judged() const { return !held_out.empty(); }
  // Why it is not worth writing, or "".
  std::string refusal() const;
};

std::string calibration_table(const CalibrationReport& report, std::size_t width);
Json fitted_json(const CalibrationReport& report);

}  // namespace weir
