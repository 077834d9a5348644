#include "sim/app/sweep/point_run.h"

#include "sim/app/output/metrics.h"
#include "sim/app/output/writers.h"
#include "sim/engine/simulation.h"

namespace weir {

Json run_point(const Sweep& sweep, const Point& point) {
  const Scenario scenario = read_scenario(point.scenario, sweep.scenario_file.string());
  const RunResult result = simulate(scenario, {});
  const Metrics metrics = measure(result, scenario.slo);
  return summary_json({scenario, result, metrics});
}

}  // namespace weir
