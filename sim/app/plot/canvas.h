#pragma once
// Every figure of weir plot is made of these, in pixels of a canvas 680 wide: margins, axes with their tics,
// the legend above the data. Everything is placed here, not by gnuplot, so that nothing overlaps and labels
// know what is taken.
#include <string>
#include <vector>

namespace weir {

constexpr int canvas_width = 680;
constexpr double letter_px = 20, small_px = 17;

double text_width(const std::string& text, double size);
std::string cut_to(const std::string& text, double width, double size);  // with ".." at its end if it must
std::string short_number(double value);                                  // 12k, 0.05

// Okabe and Ito's colours, each with a dash and a point of its own, for print without colour.
struct Look {
  const char* colour;
  int point;
  const char* dash;
};
constexpr std::size_t looks = 7;
const Look& look(std::size_t i);
constexpr const char* grey = "#b0b0b0";

struct ChartAxis {
  double low = 0, high = 1;
  bool log = false;
  std::vector<double> tics;

  double place(double value) const;  // 0 at low, 1 at high
  double widest_tic() const;
  std::string settings(const char* name, bool labels = true) const;  // of "x", "y"
};
enum class From { data, zero };
ChartAxis axis_over(const std::vector<double>& values, From from,
                    bool may_be_log = true);  // finite ones; log beyond a decade

struct Frame {  // the data's own box, y downwards
  double left, right, top, bottom;
  int height;  // of the canvas

  double x(const ChartAxis& axis, double value) const { return left + axis.place(value) * (right - left); }
  double y(const ChartAxis& axis, double value) const { return bottom - axis.place(value) * (bottom - top); }
  std::string settings() const;
  std::string x_title(const std::string& text) const;  // below the tics
  std::string y_title(const std::string& text) const;
  std::string axes(const ChartAxis& x, const ChartAxis& y, bool x_labels = true) const;
};
double left_margin(const ChartAxis& y);  // room for the tics and the title

int note_height(const std::string& note);  // of lines below everything else, on a canvas that much higher
std::string note_below(const std::string& note, int height);

enum class Swatch { line, box };
struct LegendEntry {
  std::string text;
  std::string colour;
  int point = 0;           // none
  std::string dash = "1";  // "": no line
};
struct Legend {
  int height = 0;  // below the canvas's top
  std::string settings(int canvas_height) const;

  std::string title;
  std::vector<LegendEntry> entries;
  Swatch sample = Swatch::line;
  double column = 0;
  std::size_t columns = 1;
};
Legend legend_of(std::vector<LegendEntry> entries, Swatch sample = Swatch::line,
                 const std::string& title = "");

// A text at pixels of the canvas; `anchor` is left, center or right, and anything more that set label takes.
std::string text_at(double x, double y, int height, const std::string& text, const std::string& anchor,
                    double size);

}  // namespace weir
