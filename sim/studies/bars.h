#pragma once
// Figures of studies: groups of bars in panels beside each other, the judged set as bars, the physical one
// and published numbers as points on them.
#include <string>
#include <vector>

#include "sim/app/output/result_directory.h"

namespace weir {

struct Bars {  // of one panel; a number for each group and series, NaN: none
  std::string title;
  std::vector<std::string> groups = {};
  std::vector<std::vector<double>> judged = {}, physical = {},
                                   published = {};  // [group][series]; published: or nothing
};
struct Series {
  std::string title, colour;
};
struct BarFigure {
  std::string name, ylabel;
  std::vector<Series> series;
  std::vector<Bars> panels = {};
  int columns = 2;
  int panel_height = 190;
  std::string xlabel = {};  // under all panels
  double log_from = 0;      // a logarithmic axis from there; 0: a linear one
};
void draw_bars(ResultDirectory& directory, const BarFigure& figure);

}  // namespace weir
