#pragma once
// The kinds of figures that weir plot draws: one source file and one row of the table in plot.cpp a kind.
#include <filesystem>
#include <string>
#include <vector>

#include "sim/app/output/gnuplot.h"
#include "sim/app/results/repetitions.h"

namespace weir {

struct PlotRequest {
  const ResultSet& results;
  std::vector<Repeated> points;  // those that --where leaves
  std::filesystem::path folder;  // data goes to folder/figures/
  std::string x, y, metric;      // metrics, or varied pointers for a heat map; "" is the kind's own choice
};

struct PlotKind {
  std::string name, summary;
  std::string (*why_not)(const PlotRequest& request);  // "" if the results can be drawn so
  Figure (*figure)(const PlotRequest& request);        // writes its data
};
const std::vector<PlotKind>& plot_kinds();

// Draws a sweep's lines along its load (or another varied number), one a configuration.
struct Line {
  std::string label;
  std::vector<const Repeated*> points;  // along, rising; those with a point done
  bool shown = true;                    // with a colour of its own; the rest are grey
};
struct Lines {
  std::string title;  // what the labels' values are
  std::string along;  // pointer; "" if nothing varied is a number: every line is then one point
  std::vector<Line> lines;
};
Lines lines_of(const PlotRequest& request);
// Leaves a colour to the lines that win somewhere, and to as many more as there are colours.
void choose_shown(Lines& lines, const std::string& x, const std::string& y);
// "Left out: 3 points that failed, 2 without p99 TTFT (ms)"; "" if every point has these metrics.
std::string left_out(const PlotRequest& request, const std::vector<std::string>& metrics);
std::string pointer_title(const std::string& pointer);  // Arrival rate (requests/s)
// Pointers with two values or more, without numbers that follow from words or go together with another.
std::vector<std::string> changing(const std::vector<Repeated>& points);

}  // namespace weir
