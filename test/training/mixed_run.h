#pragma once
// A scenario that serves and trains, played in a child: what the laws of both are said of.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/plan/plan.h"

namespace weir::test {

struct MixedRun {
  std::vector<double> requests;                            // seconds: finished, by request
  std::vector<std::vector<double>> steps;                  // ended, by job and step
  double lost_by_steps = 0;                                // of replicas
  double measured_from = 0, end = 0;                       // what links carry is counted in between
  std::map<std::string, std::pair<double, double>> links;  // carried bytes, and what they could have
  // By job: what a step puts on each link, by the routes of its flows.
  std::vector<std::map<std::string, double>> sent_a_step;
};

MixedRun mixed_run(const Json& scenario);
Json without_jobs(Json scenario);
std::vector<std::vector<double>> steps_alone(const Json& scenario);  // ended, by job and step

double sum(const std::vector<double>& values);
double furthest(const std::vector<double>& a, const std::vector<double>& b);

// Of those that have ended in time, as far as they are counted.
double steps_counted(const MixedRun& run, std::size_t job);

inline constexpr double two_ns = 2e-9;

}  // namespace weir::test
