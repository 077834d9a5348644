#pragma once
// The mathematics of a calibration: observations that are nearly linear in constants, on a scale on which 1
// is noise, and a change of each constant on a scale on which 1 is usual. By dlib.
#include <string>
#include <vector>

namespace weir {

// A row an observation, a column a constant: what a usual change of the constant is, in noise.
using Effects = std::vector<std::vector<double>>;

struct Told {
  bool told = false;
  double alone = 0;                 // its effect on all rows, in noise
  std::vector<std::size_t> beside;  // constants before it that account for most of that
};
// Which constants the rows tell, each from those before it: of its effect more than noise is left when what
// they could do is taken away.
std::vector<Told> told_by(const Effects& effects);

// The cost of an error, in noise: its square where it is small. From three times noise on it counts by its
// size (pseudo-Huber), so that a row which no constants explain does not draw the fit.
double fit_loss(double error);

// Usual changes that bring offsets + effects x changes nearest to 0, within bounds, and only of the constants
// that are free.
std::vector<double> best_changes(const std::vector<double>& offsets, const Effects& effects,
                                 const std::vector<bool>& is_free, const std::vector<double>& least,
                                 const std::vector<double>& most);

}  // namespace weir
