#include "sim/app/plot/canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "sim/app/output/gnuplot.h"

namespace weir {
namespace {

constexpr Look look_table[looks] = {{"#0072B2", 7, "1"},      {"#D55E00", 9, "(18,5)"},
                                    {"#009E73", 5, "(5,4)"},  {"#CC79A7", 13, "(14,4,3,4)"},
                                    {"#E69F00", 11, "(9,4)"}, {"#56B4E9", 15, "(22,3,3,3)"},
                                    {"#000000", 6, "(3,3)"}};

// Helvetica's widths, roughly, in em; too wide rather than too narrow.
double em(char c) {
  if (std::strchr("ijl.,:;'|!()[]/ftrI ", c)) return 0.36;
  if (std::strchr("mwMW%@", c)) return 0.9;
  if ((c >= 'A' && c <= 'Z') || std::strchr("+=_$", c)) return 0.7;
  return 0.57;
}

double step_of(double range, int steps) {
  const double raw = range / steps, unit = std::pow(10, std::floor(std::log10(raw)));
  for (const double nice : {1.0, 2.0, 5.0})
    if (raw <= nice * unit * 1.0000001) return nice * unit;
  return 10 * unit;
}

std::vector<double> linear_tics(double low, double high) {
  const double step = step_of(high - low, 5);
  std::vector<double> tics;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); ++i) tics.push_back(i * step);
  return tics;
}

std::vector<double> log_tics(double low, double high) {
  const double decades = std::log10(high / low);
  std::vector<double> tics;
  const double every = decades > 7 ? 2 : 1;
  for (double e = std::floor(std::log10(low)); e <= std::ceil(std::log10(high)); ++e)
    for (const double digit : {1.0, 2.0, 5.0}) {
      if ((digit != 1 && decades > 2.2) || std::fmod(e, every) != 0) continue;
      const double tic = digit * std::pow(10, e);
      if (tic >= low * 0.999 && tic <= high * 1.001) tics.push_back(tic);
    }
  return tics;
}

// Fewer tics, until their labels keep clear of each other along `length` px: powers of ten stay longest.
ChartAxis thinned(ChartAxis axis, double length) {
  const auto crowded = [&] {
    for (std::size_t i = 1; i < axis.tics.size(); ++i) {
      const double widths = text_width(short_number(axis.tics[i - 1]), letter_px) +
                            text_width(short_number(axis.tics[i]), letter_px);
      if ((axis.place(axis.tics[i]) - axis.place(axis.tics[i - 1])) * length < widths / 2 + 6) return true;
    }
    return false;
  };
  std::vector<double> powers;
  for (const double tic : axis.tics)
    if (axis.log && std::abs(std::remainder(std::log10(tic), 1)) < 1e-9) powers.push_back(tic);
  if (crowded() && powers.size() > 1) axis.tics = powers;
  while (crowded()) {
    std::vector<double> half;
    for (std::size_t i = 0; i < axis.tics.size(); i += 2) half.push_back(axis.tics[i]);
    axis.tics = half;
  }
  return axis;
}

}  // namespace

double text_width(const std::string& text, double size) {
  double width = 0;
  for (const char c : text)
    if ((c & 0xC0) != 0x80) width += em(c);
  return width * size;
}

std::string cut_to(const std::string& text, double width, double size) {
  const double room = width - text_width("..", size);
  double taken = 0;
  std::size_t fits = 0;  // bytes that leave room for the dots
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xC0) == 0x80) continue;
    if (taken <= room) fits = i;
    taken += em(text[i]) * size;
    if (taken > width) return text.substr(0, fits) + "..";
  }
  return text;
}

std::string short_number(double value) {
  const double size = std::abs(value);
  if (size >= 1e9) return fmt::format("{:.3g}G", value / 1e9);
  if (size >= 1e6) return fmt::format("{:.3g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.4g}k", value / 1e3);
  return size < 1e-12 ? "0" : fmt::format("{:.4g}", value);
}

const Look& look(std::size_t i) {
  return look_table[i % looks];
}

double ChartAxis::place(double value) const {
  if (log) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

double ChartAxis::widest_tic() const {
  double widest = 0;
  for (const double tic : tics) widest = std::max(widest, text_width(short_number(tic), letter_px));
  return widest;
}

std::string ChartAxis::settings(const char* name, bool labels) const {
  if (tics.empty())
    return fmt::format("unset logscale {0}\nset {0}range [{1}:{2}]\nunset {0}tics\n", name, low, high);
  std::string list;
  for (const double tic : tics)
    list +=
        fmt::format("{}{} {}", list.empty() ? "" : ", ", gnuplot_tic(labels ? short_number(tic) : ""), tic);
  return fmt::format("{0}set logscale {1}\nset {1}range [{2}:{3}]\nset {1}tics ({4})\n", log ? "" : "un",
                     name, low, high, list);
}

ChartAxis axis_over(const std::vector<double>& values, From from, bool may_be_log) {
  double low = 1e300, high = -1e300;
  for (const double v : values)
    if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  if (low > high) low = 0, high = 1;
  ChartAxis axis;
  axis.log = may_be_log && low > 0 && high / low > 12;
  if (axis.log) {
    axis.low = low / std::pow(high / low, 0.05), axis.high = high * std::pow(high / low, 0.05);
    axis.tics = log_tics(axis.low, axis.high);
    return axis;
  }
  if (from == From::zero || (low >= 0 && low < 0.5 * high)) {
    axis.low = std::min(0.0, low);
    axis.high = high > axis.low ? high + 0.06 * (high - axis.low) : axis.low + 1;
  } else {
    const double pad = high > low ? 0.08 * (high - low) : std::max(std::abs(high) * 0.1, 1e-9);
    axis.low = low - pad, axis.high = high + pad;
  }
  axis.tics = linear_tics(axis.low, axis.high);
  return axis;
}

std::string Frame::settings() const {
  return fmt::format(
      "set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\nset tmargin at screen {:.5f}\nset bmargin "
      "at screen "
      "{:.5f}\n",
      left / canvas_width, right / canvas_width, 1 - top / height, 1 - bottom / height);
}

std::string Frame::x_title(const std::string& text) const {
  return text_at((left + right) / 2, bottom + 64, height, text, "center", letter_px);
}

std::string Frame::y_title(const std::string& text) const {
  const std::string shown = cut_to(text, bottom - top + 60, letter_px);
  return text_at(20, (top + bottom) / 2, height, shown, "center rotate by 90", letter_px);
}

std::string Frame::axes(const ChartAxis& x, const ChartAxis& y, bool x_labels) const {
  return settings() + thinned(x, right - left).settings("x", x_labels) + y.settings("y");
}

double left_margin(const ChartAxis& y) {
  return 74 + y.widest_tic();
}

namespace {

constexpr int note_line = 24;

std::vector<std::string> lines_of_note(const std::string& note) {
  std::vector<std::string> lines;
  std::istringstream words(note);
  for (std::string word; words >> word;)
    if (lines.empty() || text_width(lines.back() + " " + word, small_px) > canvas_width - 20)
      lines.push_back(word);
    else
      lines.back() += " " + word;
  return lines;
}

}  // namespace

int note_height(const std::string& note) {
  return note_line * static_cast<int>(lines_of_note(note).size());
}

std::string note_below(const std::string& note, int height) {
  std::string out;
  double y = height - note_height(note) + note_line / 2.0 - 4;
  for (const std::string& line : lines_of_note(note)) {
    out += text_at(14, y, height, line, "left", small_px);
    y += note_line;
  }
  return out;
}

Legend legend_of(std::vector<LegendEntry> entries, Swatch sample, const std::string& title) {
  Legend legend;
  legend.sample = sample;
  legend.title = title;
  const double mark = sample == Swatch::line ? 44 : 24, gap = 22;
  for (LegendEntry& entry : entries) {
    entry.text = cut_to(entry.text, canvas_width - 80, small_px + 1);
    legend.column = std::max(legend.column, mark + text_width(entry.text, small_px + 1) + gap);
  }
  legend.entries = std::move(entries);
  legend.columns =
      std::max<std::size_t>(1, static_cast<std::size_t>((canvas_width - 10) / std::max(1.0, legend.column)));
  const std::size_t rows = (legend.entries.size() + legend.columns - 1) / legend.columns;
  legend.height = 14 + 26 * static_cast<int>(rows + !title.empty()) + (rows > 0 ? 2 : 0);
  return legend;
}

std::string Legend::settings(int canvas_height) const {
  std::string out;
  const double first = title.empty() ? 20 : 46;
  if (!title.empty())
    out =
        text_at(14, 20, canvas_height, cut_to(title, canvas_width - 20, small_px + 1), "left", small_px + 1);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const LegendEntry& e = entries[i];
    const double x = 14 + column * static_cast<double>(i % columns),
                 y = first + 26 * static_cast<double>(i / columns);
    const double screen = 1 - y / canvas_height;
    if (sample == Swatch::line && !e.dash.empty())
      out += fmt::format(
          "set arrow from screen {:.5f},{:.5f} to screen {:.5f},{:.5f} nohead lw 3.5 dt {} lc rgb '{}'\n",
          x / canvas_width, screen, (x + 36) / canvas_width, screen, e.dash, e.colour);
    if (sample == Swatch::box)
      out += fmt::format(
          "set object rectangle from screen {:.5f},{:.5f} to screen {:.5f},{:.5f} fillcolor rgb '{}' "
          "fillstyle solid 1.0 "
          "noborder\n",
          x / canvas_width, 1 - (y + 8) / canvas_height, (x + 16) / canvas_width, 1 - (y - 8) / canvas_height,
          e.colour);
    if (e.point)
      out += fmt::format("set label '' at screen {:.5f},{:.5f} point pt {} ps 0.9 lc rgb '{}'\n",
                         (x + 18) / canvas_width, screen, e.point, e.colour);
    out += text_at(x + (sample == Swatch::line ? 44 : 24), y, canvas_height, e.text, "left", small_px + 1);
  }
  return out;
}

std::string text_at(double x, double y, int height, const std::string& text, const std::string& anchor,
                    double size) {
  return fmt::format(
      "set label {} at screen {:.5f},{:.5f} {} font sprintf(',%g', {}*pt) textcolor rgb '#202020' front\n",
      gnuplot_text(text), x / canvas_width, 1 - y / height, anchor, size);
}

}  // namespace weir
