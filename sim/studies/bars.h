#pragma once
// Figures of studies: groups of bars in panels beside each other, the judged set as bars, the physical one
// and published numbers as points on them.
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "sim/app/output/result_directory.h"
#include "sim/app/results/csv.h"

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
inline constexpr double no_bar = std::numeric_limits<double>::quiet_NaN();

// One panel of a table with a row a group and series, of the rows that are shown.
struct Columns {
  std::string group, series, judged, physical = {};
};
Bars bars_of(
    const Table& table, const Columns& columns, const std::vector<Series>& series,
    const std::function<bool(std::size_t)>& shown = [](std::size_t) { return true; });

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
