#pragma once
// Figures by gnuplot, made to be legible at the width of a paper's column (3.4 in). Script and data of
// each stay in figures/, so that it can be redrawn and restyled: cd figures && gnuplot latency.gp
// Text that is not Weir's own goes into both by the functions below.
#include <chrono>
#include <string>

#include "sim/app/output/result_directory.h"

namespace weir {

// Before anything runs, so that nobody simulates for an hour first. A command that draws and does nothing
// else throws without gnuplot; one that has results beside figures says how to get it, and goes on.
void require_gnuplot();
bool can_draw(bool wanted);

struct Figure {
  std::string name;
  int height = 420;      // of 680 wide
  std::string settings;  // gnuplot variables that the body uses
  std::string body;      // runs in figures/, after the common style
};
// ESTIMATE: what takes longest, a heat map of 10,000 points, takes a second of an idle core.
inline constexpr std::chrono::seconds gnuplot_patience(60);

// Leaves figures/NAME.gp and NAME.svg (or .pdf, .png) in `folder`, which exists; throws unless gnuplot
// succeeds in time, and Interrupted where a signal came (interruption.h), even to the whole process
// group.
void draw(const std::filesystem::path& folder, const Figure& figure, const std::string& format = "svg",
          std::chrono::milliseconds patience = gnuplot_patience);
void draw(ResultDirectory& directory, const Figure& figure);
bool is_figure_script(const std::filesystem::path& file);  // a NAME.gp of before

// A string of gnuplot's, for wherever it takes one, shown as `text`, whatever is in that: quotes,
// backslashes, the markup of enhanced text. What cannot be shown is a sign (bytes that are no UTF-8) or a
// space (control characters).
std::string gnuplot_text(const std::string& text);
// The same for `set xtics ("..." 1)`, where gnuplot takes it for a format of the number.
std::string gnuplot_tic(const std::string& text);

// A field of figures' data, in quotes; a quote in it is an apostrophe, a line's end a space.
std::string csv_text(const std::string& text);

}  // namespace weir
