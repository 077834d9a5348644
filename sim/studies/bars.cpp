#include "sim/studies/bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "sim/app/output/gnuplot.h"
#include "sim/app/output/output_file.h"

namespace weir {
namespace {

constexpr int width = 680, left = 86, right = 12, between = 62;  // px
constexpr int title = 30, below = 46;

void write_panel(ResultDirectory& directory, const std::string& file, const Bars& bars) {
  OutputFile data(directory.file("figures/" + file));
  data.text("group,judged,physical,published: a column a series each\n");
  for (std::size_t g = 0; g < bars.groups.size(); ++g) {
    data.print("{}", g);
    for (const auto* set : {&bars.judged, &bars.physical, &bars.published}) {
      if (set->empty()) continue;
      for (const double value : (*set)[g]) data.text(std::isnan(value) ? "," : fmt::format(",{:.5g}", value));
    }
    data.text("\n");
  }
  data.close();
}

double cell(const Table& table, std::size_t row, const std::string& column) {
  return column.empty() || table.text(row, column).empty() ? no_bar : table.number(row, column);
}

std::size_t place_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

// A column of one of the sets; gnuplot warns of one without numbers.
bool any(const std::vector<std::vector<double>>& set, int series) {
  return std::ranges::any_of(set, [&](const std::vector<double>& group) {
    return !std::isnan(group[static_cast<std::size_t>(series)]);
  });
}

std::string plot_of(const BarFigure& figure, const Bars& bars, const std::string& file) {
  const auto count = static_cast<int>(figure.series.size());
  std::vector<int> shown;
  for (int i = 0; i < count; ++i)
    if (any(bars.judged, i)) shown.push_back(i);
  const double step = 0.84 / static_cast<double>(shown.size());
  std::string plot = fmt::format("set boxwidth {:.4f}\n", 0.76 / static_cast<double>(shown.size()));
  const char* next = "plot ";
  const auto add = [&](const auto& values, int set, const auto& with) {
    for (std::size_t at = 0; at < shown.size(); ++at)
      if (const int series = shown[at]; any(values, series)) {
        const double x = step * (static_cast<double>(at) - static_cast<double>(shown.size() - 1) / 2.);
        plot +=
            fmt::format("{}\"{}\" skip 1 using ($1{:+.4f}):{} with {} notitle",
                        std::exchange(next, ", \\\n     "), file, x, 2 + set * count + series, with(series));
      }
  };
  add(bars.judged, 0, [&](int i) {
    return fmt::format("boxes lc rgb \"{}\"", figure.series[static_cast<std::size_t>(i)].colour);
  });
  add(bars.physical, 1, [](int) { return "points lc rgb \"#000000\" pt 7 ps 0.45"; });
  add(bars.published, 2, [](int) { return "points lc rgb \"#000000\" pt 2 ps 0.9 lw 2.5"; });
  return plot;
}

// In the first panel, for all: above them.
std::string legend_of(const BarFigure& figure) {
  std::string entries;
  for (const Series& series : figure.series)
    entries += fmt::format(", \\\n     keyentry with boxes lc rgb \"{}\" title {}", series.colour,
                           gnuplot_text(series.title));
  bool physical = false, published = false;
  for (const Bars& bars : figure.panels) {
    for (int i = 0; i < static_cast<int>(figure.series.size()); ++i)
      physical = physical || any(bars.physical, i);
    published = published || !bars.published.empty();
  }
  if (physical)
    entries += ", \\\n     keyentry with points lc rgb \"#000000\" pt 7 ps 0.6 title \"physical\"";
  if (published)
    entries += ", \\\n     keyentry with points lc rgb \"#000000\" pt 2 ps 1 lw 2.5 title \"published\"";
  return entries;
}

}  // namespace

Bars bars_of(const Table& table, const Columns& columns, const std::vector<Series>& series,
             const std::function<bool(std::size_t)>& shown) {
  Bars bars{.title = ""};
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!shown(row)) continue;
    const auto named = std::ranges::find(series, table.text(row, columns.series), &Series::title);
    if (named == series.end()) continue;
    const std::size_t group = place_of(bars.groups, table.text(row, columns.group)),
                      at = static_cast<std::size_t>(named - series.begin());
    bars.judged.resize(bars.groups.size(), std::vector<double>(series.size(), no_bar));
    bars.physical.resize(bars.groups.size(), std::vector<double>(series.size(), no_bar));
    bars.judged[group][at] = cell(table, row, columns.judged);
    bars.physical[group][at] = cell(table, row, columns.physical);
  }
  return bars;
}

void draw_bars(ResultDirectory& directory, const BarFigure& figure) {
  const int panels = static_cast<int>(figure.panels.size()),
            rows = (panels + figure.columns - 1) / figure.columns;
  const int top = 70, bottom = figure.xlabel.empty() ? 8 : 36;
  const int pitch = title + figure.panel_height + below, height = top + rows * pitch + bottom;
  const int panel_width = (width - left - right - (figure.columns - 1) * between) / figure.columns;
  std::string body = R"gp(small = sprintf(",%g", 15*pt)
set style fill solid 1.0 noborder
set multiplot
set yrange [0:*]
set xtics scale 0 font small offset 0,0.2
set ytics font small
set key at screen 0.5, screen 1-4.0/height center top horizontal maxrows 2 samplen 1 font small
)gp";
  body += fmt::format("set label 1 {} at screen 14.0/680, screen 0.48 center rotate\n",
                      gnuplot_text(figure.ylabel));
  if (!figure.xlabel.empty())
    body += fmt::format("set label 2 {} at screen 0.5, screen 18.0/height center font small\n",
                        gnuplot_text(figure.xlabel));
  body +=
      "set lmargin at screen 0\nset rmargin at screen 1\nset bmargin at screen 0\nset tmargin at screen 1\n"
      "unset border\nunset tics\nunset grid\nplot [0:1][0:1] NaN notitle" +
      legend_of(figure) +
      "\nunset key\nunset label 1\nunset label 2\nset border 3\nset grid back lw 1 lc rgb \"#e0e0e0\" dt "
      "1\n" +
      (figure.log_from > 0 ? fmt::format("set logscale y\nset yrange [{:g}:*]\n", figure.log_from)
                           : "set yrange [0:*]\n") +
      "set ytics nomirror out scale 0.6 font small\n";
  for (int i = 0; i < panels; ++i) {
    const Bars& bars = figure.panels[static_cast<std::size_t>(i)];
    const std::string file = fmt::format("{}_{}.csv", figure.name, i + 1);
    write_panel(directory, file, bars);
    const int x = left + i % figure.columns * (panel_width + between);
    const int y = bottom + (rows - 1 - i / figure.columns) * pitch + below;
    body += fmt::format(
        "set lmargin at screen {}.0/680\nset rmargin at screen {}.0/680\n"
        "set bmargin at screen {}.0/height\nset tmargin at screen {}.0/height\n"
        "set title {} offset 0,-0.6\nset xrange [-0.55:{:.2f}]\nunset xtics\nset xtics (",
        x, x + panel_width, y, y + figure.panel_height, gnuplot_text(bars.title),
        static_cast<double>(bars.groups.size()) - 0.45);
    for (std::size_t g = 0; g < bars.groups.size(); ++g)
      body += fmt::format("{}{} {}", g == 0 ? "" : ", ", gnuplot_tic(bars.groups[g]), g);
    body += ") scale 0 font small\n" + plot_of(figure, bars, file) + "\n";
  }
  draw(directory,
       {.name = figure.name, .height = height, .settings = "", .body = body + "unset multiplot\n"});
}

}  // namespace weir
