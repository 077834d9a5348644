#pragma once
// A dashed line where the SLO bounds a metric of a figure.
#include "sim/app/plot/canvas.h"
#include "sim/app/ranking/slo_bounds.h"

namespace weir {

// Adds the bound to the values that an axis is made over, unless it is so far off that these would be
// squeezed.
void let_see(std::vector<double>& values, const std::optional<double>& bound);

enum class Bounded { x, y };
// Where the bound lies beyond the axis, its label says so at that end. "" where there is none.
std::string slo_line(const std::optional<double>& bound, Bounded which, const Frame& frame,
                     const ChartAxis& axis);

}  // namespace weir
