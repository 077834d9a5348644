#pragma once
// Figures of one run by gnuplot, SVG, made to be legible at the width of a paper's column (3.4 in):
// latency.svg, throughput.svg, utilisation.svg, kv_cache.svg. Script and data of each stay in figures/, so
// that a figure can be redrawn and restyled: cd figures && gnuplot latency.gp
#include "sim/app/output/result_directory.h"
#include "sim/app/output/writers.h"

namespace weir {

void draw_figures(ResultDirectory& directory, const FinishedRun& run);

}  // namespace weir
