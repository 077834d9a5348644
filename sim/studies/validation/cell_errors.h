#pragma once
// How far simulated servers are from measured ones, by cell: one model, GPU, engine, number format and
// layout. Used by servers.cpp alone.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "sim/app/reproduce/reproduce.h"
#include "sim/studies/validation/measured.h"

namespace weir {

struct MeanError {
  double absolute = 0, squares = 0, signed_sum = 0, worst = 0;
  int count = 0;

  void add(double simulated, double measured) {
    const double percent = 100 * (simulated / measured - 1);
    absolute += std::abs(percent);
    squares += percent * percent;
    signed_sum += percent;
    if (std::abs(percent) > std::abs(worst)) worst = percent;
    ++count;
  }
  void add(const MeanError& other);
  double mean() const { return absolute / count; }
  double bias() const { return signed_sum / count; }
  std::string note(bool sample) const;  // of a sample: with the standard error
};

struct SimulatedServer {
  MeasuredServer measured;
  Json scenario;
  std::string failure;  // why it could not be played
};

using CellErrors = std::map<std::string, std::map<std::string, MeanError>>;  // by what is compared, by group

// Cells of whole replicas, written with every measured row and copied to
// sim/app/evidence/measured/cells.json.
Json cells_of(const std::vector<SimulatedServer>& servers, const CellErrors& errors);
// The mean over the cells of whole replicas, each as much as any other.
ReproducedRow mean_of_cells(const std::vector<SimulatedServer>& servers, const CellErrors& errors);

}  // namespace weir
