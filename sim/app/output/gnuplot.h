#pragma once
// Figures by gnuplot, SVG, made to be legible at the width of a paper's column (3.4 in). Script and data of
// each stay in figures/, so that it can be redrawn and restyled: cd figures && gnuplot latency.gp
#include <string>

#include "sim/app/output/result_directory.h"

namespace weir {

void require_gnuplot();  // throws if it is not on PATH, so that nobody simulates for an hour first

struct Figure {
  std::string name;
  int height = 420;      // of 680 wide
  std::string settings;  // gnuplot variables that the body uses
  std::string body;      // runs in figures/, after the common style
};
// Leaves figures/NAME.gp and NAME.svg (or .pdf, .png) in `folder`, which exists; throws unless gnuplot
// succeeds.
void draw(const std::filesystem::path& folder, const Figure& figure, const std::string& format = "svg");
void draw(ResultDirectory& directory, const Figure& figure);

}  // namespace weir
