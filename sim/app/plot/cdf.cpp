// How TTFT and TPOT are distributed. Of a run: over its requests. Of a sweep, which keeps quantiles alone:
// the upper half, p50 to p99, a line per configuration at the middle of the loads.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/app/output/gnuplot.h"
#include "sim/app/output/output_file.h"
#include "sim/app/plot/canvas.h"
#include "sim/app/plot/kinds.h"
#include "sim/app/plot/slo_line.h"
#include "sim/app/results/csv.h"
#include "sim/app/results/labels.h"
#include "sim/app/results/metric.h"
#include "sim/app/results/result_set.h"

namespace weir {
namespace {

struct Curve {
  std::string label;
  std::vector<double> share;
  std::vector<double> ttft_ms, tpot_ms;  // at the same shares; NaN where there is none
  bool shown = true;
};

std::vector<double> quantiles(std::vector<double> values, const std::vector<double>& shares) {
  std::erase_if(values, [](double v) { return std::isnan(v); });
  std::sort(values.begin(), values.end());
  std::vector<double> at;
  for (const double share : shares)
    at.push_back(
        values.empty()
            ? std::nan("")
            : values[static_cast<std::size_t>(std::llround(share * static_cast<double>(values.size() - 1)))]);
  return at;
}

Curve curve_of_run(const PlotRequest& request) {
  auto columns = read_columns(request.results.directory / "requests.csv", {"ttft_ms", "tpot_ms", "e2el_ms"});
  const std::vector<char> measured = measured_rows(request.results.directory, columns[0].size());
  for (std::size_t i = 0; i < columns[0].size(); ++i)
    if (!measured[i] || std::isnan(columns[2][i]))
      columns[0][i] = columns[1][i] = std::nan("");  // not in the metrics
  Curve curve;
  constexpr int points = 500;  // a million points in an SVG help nobody
  for (int i = 0; i <= points; ++i) curve.share.push_back(i / double{points});
  curve.ttft_ms = quantiles(columns[0], curve.share);
  curve.tpot_ms = quantiles(columns[1], curve.share);
  return curve;
}

// The value along the lines that is in the middle of all that occur.
double middle_load(const Lines& all) {
  std::vector<double> loads;
  for (const Line& line : all.lines)
    for (const Repeated* point : line.points)
      loads.push_back(value_of(point->varied, all.along)->get<double>());
  std::sort(loads.begin(), loads.end());
  loads.erase(std::unique(loads.begin(), loads.end()), loads.end());
  return loads[loads.size() / 2];
}

std::vector<Curve> curves_of_sweep(const Lines& all) {
  const double load = all.along.empty() ? 0 : middle_load(all);
  std::vector<Curve> curves;
  for (const Line& line : all.lines)
    for (const Repeated* point : line.points) {
      if (!all.along.empty() && value_of(point->varied, all.along)->get<double>() != load) continue;
      Curve curve{line.label, {0.5, 0.9, 0.95, 0.99}, {}, {}, line.shown};
      for (const char* q : {"p50", "p90", "p95", "p99"}) {
        curve.ttft_ms.push_back(point->metric(std::string(q) + "_ttft_ms").mean);
        curve.tpot_ms.push_back(point->metric(std::string(q) + "_tpot_ms").mean);
      }
      curves.push_back(std::move(curve));
      break;
    }
  return curves;
}

// 50, 90, 99 % evenly apart.
double tail(double share) {
  return -std::log10(1 - share);
}

void write_data(const PlotRequest& request, const std::vector<Curve>& curves) {
  OutputFile data(request.folder / "figures" / "cdf.csv");
  data.text("curve,label,share,tail,ttft_ms,tpot_ms\n");
  for (std::size_t c = 0; c < curves.size(); ++c)
    for (std::size_t i = 0; i < curves[c].share.size(); ++i)
      data.print("{},{},{},{},{},{}\n", c, csv_text(curves[c].label), curves[c].share[i],
                 curves[c].share[i] < 1 ? tail(curves[c].share[i]) : 99, curves[c].ttft_ms[i],
                 curves[c].tpot_ms[i]);
  data.close();
}

std::string plot_of(const std::vector<Curve>& curves, bool sweep, int column) {
  std::string plot;
  const auto add = [&](std::size_t c, const std::string& with) {
    plot += fmt::format("{} using ($1 == {} ? ${} : NaN):{} skip 1 with {} notitle",
                        plot.empty() ? "plot 'cdf.csv'" : ", \\\n     ''", c, column, sweep ? 4 : 3, with);
  };
  for (std::size_t c = 0; c < curves.size(); ++c)
    if (!curves[c].shown) add(c, fmt::format("lines lw 1.5 lc rgb '{}'", grey));
  std::size_t colour = 0;
  for (std::size_t c = 0; c < curves.size(); ++c) {
    if (!curves[c].shown) continue;
    const Look& l = look(colour++);
    add(c, sweep ? fmt::format("linespoints lw 2.5 dt {} pt {} ps 0.8 lc rgb '{}'", l.dash, l.point, l.colour)
                 : fmt::format("lines lw 3 lc rgb '{}'", l.colour));
  }
  return plot + "\n";
}

ChartAxis share_axis(bool sweep) {
  ChartAxis axis{.low = 0, .high = 1, .log = false, .tics = {0, 0.25, 0.5, 0.75, 1}};
  if (sweep) axis = {.low = tail(0.5) - 0.06, .high = 2.06, .log = false, .tics = {}};
  return axis;
}

// The tics of the tail are shares, not their logarithms.
std::string tail_tics(bool labels) {
  std::string list;
  for (const double percent : {50.0, 90.0, 95.0, 99.0})
    list += fmt::format("{}'{}' {}", list.empty() ? "" : ", ", labels ? fmt::format("{:g}", percent) : "",
                        tail(percent / 100));
  return "set ytics nomirror out scale 0.6 (" + list + ")\n";
}

}  // namespace

std::string why_no_cdf(const PlotRequest& request) {
  if (trains(request.results)) return "what trains serves no requests";
  if (request.results.sweep) return lines_of(request).lines.empty() ? "no point is done" : "";
  if (!std::filesystem::exists(request.results.directory / "requests.csv")) return "there is no requests.csv";
  return request.results.points[0].summary.value("completed", 0.0) > 0 ? "" : "no request was completed";
}

Figure cdf(const PlotRequest& request) {
  const bool sweep = request.results.sweep;
  Lines all;
  if (sweep) all = lines_of(request), choose_shown(all, "output_throughput", "p99_ttft_ms");
  const std::vector<Curve> curves = sweep ? curves_of_sweep(all) : std::vector{curve_of_run(request)};
  write_data(request, curves);
  std::vector<LegendEntry> entries;
  std::size_t others = 0;
  for (const Curve& curve : curves) {
    const Look& l = look(entries.size());
    if (curve.shown) entries.push_back({curve.label, l.colour, l.point, l.dash});
    others += !curve.shown;
  }
  if (others) entries.push_back({fmt::format("{} others", others), grey});
  const std::string note =
      all.along.empty() ? "" : fmt::format("{}: {:g}", pointer_title(all.along), middle_load(all));
  if (entries.size() == 1) entries.clear();
  const Legend legend = legend_of(entries, Swatch::line, entries.empty() ? "" : all.title);
  const int note_height = note.empty() ? 0 : 24, height = legend.height + note_height + 20 + 300 + 84;
  const ChartAxis y = share_axis(sweep);
  const double top = legend.height + note_height + 20, bottom = top + 300, left = 114, gap = 34,
               right = canvas_width - 26;
  const double width = (right - left - gap) / 2;
  const Frame frames[] = {{left, left + width, top, bottom, height},
                          {right - width, right, top, bottom, height}};
  std::string body = "set multiplot\n" + legend.settings(height);
  if (!note.empty()) body += text_at(14, legend.height + 10, height, note, "left", small_px);
  const struct {
    const char *title, *slo;
    int column;
  } panels[] = {{"TTFT (ms)", "ttft_ms", 5}, {"TPOT (ms)", "tpot_ms", 6}};
  for (int i = 0; i < 2; ++i) {
    std::vector<double> values;
    for (const Curve& c : curves) {
      const auto& of = i == 0 ? c.ttft_ms : c.tpot_ms;
      values.insert(values.end(), of.begin(), of.end());
    }
    if (std::none_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) continue;
    const std::optional<double> bound = slo_of(request.results).of(panels[i].slo);
    let_see(values, bound);
    const ChartAxis x = axis_over(values, From::data);
    body +=
        frames[i].axes(x, y) + frames[i].x_title(panels[i].title) + slo_line(bound, Bounded::x, frames[i], x);
    body += sweep ? tail_tics(i == 0) : y.settings("y", i == 0);
    if (i == 0) body += frames[i].y_title(sweep ? "Requests (%)" : "Share of requests");
    body += plot_of(curves, sweep, panels[i].column) + "unset label\nunset arrow\n";
  }
  return {.name = "cdf", .height = height, .settings = "", .body = body + "unset multiplot\n"};
}

}  // namespace weir
