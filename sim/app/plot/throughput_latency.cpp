// Throughput against latency, a line per configuration along the load: two panels, TTFT above TPOT, or one of
// the metrics asked for.
#include <fmt/format.h>

#include <cmath>

#include "sim/app/output/gnuplot.h"
#include "sim/app/output/output_file.h"
#include "sim/app/output/writers.h"
#include "sim/app/plot/canvas.h"
#include "sim/app/plot/kinds.h"
#include "sim/app/plot/slo_line.h"
#include "sim/app/results/labels.h"
#include "sim/app/results/metric.h"

namespace weir {
namespace {

// Columns: line, label, along, then mean and half width (0 if unknown) of each metric.
std::vector<std::vector<double>> write_data(const PlotRequest& request, const Lines& all,
                                            const std::vector<std::string>& metrics) {
  OutputFile data(request.folder / "figures" / "throughput_latency.csv");
  data.text("line,label,along");
  for (const std::string& metric : metrics) data.print(",{0},{0}_half_width", column_name(metric));
  data.line_done();
  std::vector<std::vector<double>> values(metrics.size());
  for (std::size_t i = 0; i < all.lines.size(); ++i)
    for (const Repeated* point : all.lines[i].points) {
      const Json* along = value_of(point->varied, all.along);
      data.print("{},{},{}", i, csv_text(all.lines[i].label), along ? along->dump() : "");
      for (std::size_t m = 0; m < metrics.size(); ++m) {
        const Estimate e = point->metric(metrics[m]);
        data.print(",{},{}", e.mean, std::isfinite(e.half_width) ? e.half_width : 0);
        values[m].push_back(e.mean);
      }
      data.line_done();
    }
  data.close();
  return values;
}

// Grey ones first, below the others.
std::string plot_of(const Lines& all, std::size_t column, bool bars) {
  std::string plot;
  const auto add = [&](std::size_t i, const std::string& with) {
    plot += fmt::format("{} using ($1 == {} ? $4 : NaN):{} skip 1 {} notitle",
                        plot.empty() ? "plot 'throughput_latency.csv'" : ", \\\n     ''", i, column, with);
  };
  for (std::size_t i = 0; i < all.lines.size(); ++i)
    if (!all.lines[i].shown) add(i, fmt::format("with linespoints lw 1.5 pt 7 ps 0.4 lc rgb '{}'", grey));
  std::size_t colour = 0;
  for (std::size_t i = 0; i < all.lines.size(); ++i) {
    if (!all.lines[i].shown) continue;
    const Look& l = look(colour++);
    if (bars)
      plot += fmt::format(
          "{} using ($1 == {} ? $4 : NaN):{}:{} skip 1 with yerrorbars lw 2 pt 0 lc rgb '{}' notitle",
          plot.empty() ? "plot 'throughput_latency.csv'" : ", \\\n     ''", i, column, column + 1, l.colour);
    add(i, fmt::format("with linespoints lw 2.5 dt {} pt {} ps 0.8 lc rgb '{}'", l.dash, l.point, l.colour));
  }
  return plot + "\n";
}

Legend legend_over(const Lines& all) {
  std::vector<LegendEntry> entries;
  std::size_t colour = 0, others = 0;
  for (const Line& line : all.lines) {
    if (!line.shown) {
      ++others;
      continue;
    }
    const Look& l = look(colour++);
    entries.push_back({line.label, l.colour, l.point, l.dash});
  }
  if (entries.size() == 1) entries.clear();  // one line needs no name
  if (others) entries.push_back({fmt::format("{} others", others), grey, 7});
  return legend_of(entries, Swatch::line, entries.empty() ? "" : all.title);
}

bool repeated(const PlotRequest& request) {
  for (const Repeated& r : request.points)
    if (r.done().size() > 1) return true;
  return false;
}

}  // namespace

std::string why_no_throughput_latency(const PlotRequest& request) {
  if (!request.results.sweep) return "a run is one point; it takes a sweep";
  if (trains(request.results) && (request.x.empty() || request.y.empty()))
    return "points that train need --x and --y";
  std::size_t done = 0;
  for (const Repeated& r : request.points) done += !r.done().empty();
  return done < 2 ? "fewer than two points are done" : "";
}

Figure throughput_latency(const PlotRequest& request) {
  const std::string x = request.x.empty() ? "output_throughput" : request.x;
  const std::vector<std::string> ys =
      request.y.empty() ? std::vector<std::string>{"p99_ttft_ms", "mean_tpot_ms"} : std::vector{request.y};
  Lines all = lines_of(request);
  choose_shown(all, x, ys[0]);
  std::vector<std::string> metrics{x};
  metrics.insert(metrics.end(), ys.begin(), ys.end());
  auto values = write_data(request, all, metrics);
  const SloBounds slo = slo_of(request.results);
  for (std::size_t i = 0; i < values.size(); ++i) let_see(values[i], slo.of(metrics[i]));
  const Legend legend = legend_over(all);
  const std::string note = left_out(request, metrics);
  const ChartAxis x_axis = axis_over(values[0], From::zero);
  std::vector<ChartAxis> y_axes;
  double left = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    y_axes.push_back(axis_over(values[i], From::zero));
    left = std::max(left, left_margin(y_axes.back()));
  }
  const double panel = ys.size() == 1 ? 330 : 235, gap = 22;
  const auto panels = static_cast<double>(ys.size());
  const int height =
      legend.height + static_cast<int>(12 + panels * panel + (panels - 1) * gap + 84) + note_height(note);
  std::string body = "set multiplot\n" + legend.settings(height) + note_below(note, height);
  for (std::size_t i = 0; i < ys.size(); ++i) {
    const double top = legend.height + 12 + static_cast<double>(i) * (panel + gap);
    const Frame frame{left, canvas_width - 26, top, top + panel, height};
    const bool last = i + 1 == ys.size();
    body += frame.axes(x_axis, y_axes[i], last) + frame.y_title(metric_title(ys[i]));
    body += slo_line(slo.of(x), Bounded::x, frame, x_axis) +
            slo_line(slo.of(ys[i]), Bounded::y, frame, y_axes[i]);
    if (last) body += frame.x_title(metric_title(x));
    body += plot_of(all, 6 + 2 * i, repeated(request)) + "unset label\nunset arrow\n";
  }
  return {.name = "throughput_latency", .height = height, .settings = "", .body = body + "unset multiplot\n"};
}

}  // namespace weir
