// Where time and energy go: a bar a unit of a run, or a configuration of a sweep (its point of most output
// tokens/s).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/app/output/gnuplot.h"
#include "sim/app/output/output_file.h"
#include "sim/app/plot/canvas.h"
#include "sim/app/plot/kinds.h"
#include "sim/app/results/labels.h"
#include "sim/app/results/metric.h"

namespace weir {
namespace {

constexpr std::size_t most_bars = 24;
constexpr const char* bounds[] = {"compute_bound_s", "memory_bound_s", "link_bound_s", "host_bound_s"};

struct Bar {
  std::string label;
  double share[4] = {};  // of the run, %, as bounds
  double energy = 0;
};

// Units of a summary, added up; shares are weighed by their devices.
struct Sum {
  double devices = 0, seconds[4] = {}, joules = 0;

  void add(const Json& unit) {
    const double n = unit.value("devices", 1.0);
    devices += n;
    joules += unit.value("energy_j", 0.0);
    for (int i = 0; i < 4; ++i) seconds[i] += n * unit.value(bounds[i], 0.0);
  }
  Bar bar(const std::string& label, double duration) const {
    Bar bar{label, {}, joules};
    for (int i = 0; i < 4; ++i)
      bar.share[i] = duration > 0 && devices > 0 ? 100 * seconds[i] / devices / duration : 0;
    return bar;
  }
};

std::vector<Bar> bars_of_run(const Json& summary) {
  const double duration = summary.value("duration", 0.0);
  const Json units = summary.value("devices", Json::array());
  std::vector<Bar> bars;
  std::map<std::string, Sum> kinds;
  for (const Json& unit : units) {
    Sum one;
    one.add(unit);
    kinds[unit.value("kind", "")].add(unit);
    bars.push_back(one.bar(unit.value("name", ""), duration));
    bars.back().energy /= 1e3;
  }
  if (bars.size() <= most_bars) return bars;
  bars.clear();
  for (const auto& [kind, sum] : kinds) {
    bars.push_back(sum.bar(fmt::format("{:g} x {}", sum.devices, kind), duration));
    bars.back().energy /= 1e3;
  }
  return bars;
}

const Repeated& busiest(const Line& line) {
  return **std::max_element(line.points.begin(), line.points.end(), [](const Repeated* a, const Repeated* b) {
    return a->metric("output_throughput").mean < b->metric("output_throughput").mean;
  });
}

struct Bars {
  std::vector<Bar> bars;
  std::string left_out;
};

void leave_out(std::string& text, std::size_t count, const std::string& what) {
  if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "Left out: " : ", ", count, what);
}

Bars bars_of_sweep(const PlotRequest& request) {
  const Lines all = lines_of(request);
  std::vector<std::pair<double, Bar>> rated;
  std::size_t slower = 0;
  for (const Line& line : all.lines) {
    const Repeated& point = busiest(line);
    slower += line.points.size() - 1;
    const Json& summary = point.done()[0]->summary;
    Sum sum;
    for (const Json& unit : summary.value("devices", Json::array())) sum.add(unit);
    std::string label = line.label;
    if (const Json* along = value_of(point.varied, all.along); along && label.empty())
      label = short_name(all.along) + " " + value_text(*along);
    Bar bar = sum.bar(label, summary.value("duration", 0.0));
    bar.energy = point.metric("joules_per_output_token").mean;
    rated.emplace_back(point.metric("output_throughput").mean, bar);
  }
  const std::size_t less = rated.size() - std::min(rated.size(), most_bars);
  if (less > 0) {  // the best of them
    std::stable_sort(rated.begin(), rated.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    rated.resize(most_bars);
  }
  Bars kept{{}, left_out(request, {"joules_per_output_token"})};
  for (auto& [rate, bar] : rated) kept.bars.push_back(bar);
  leave_out(kept.left_out, less, "bars of fewer output tokens/s");
  leave_out(kept.left_out, slower, "points of fewer output tokens/s than their bar's");
  return kept;
}

void write_data(const PlotRequest& request, const std::vector<Bar>& bars) {
  OutputFile data(request.folder / "figures" / "breakdown.csv");
  data.print("bar,label,compute_percent,memory_percent,links_percent,host_percent,{}\n",
             request.results.sweep ? "joules_per_output_token" : "energy_kj");
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const Bar& b = bars[i];
    data.print("{},{},{},{},{},{},{}\n", i, csv_text(b.label), b.share[0], b.share[1], b.share[2], b.share[3],
               std::isfinite(b.energy) ? b.energy : 0);
  }
  data.close();
}

std::string names(const std::vector<Bar>& bars, const Frame& frame, double bar) {
  std::string out;
  for (std::size_t i = 0; i < bars.size(); ++i)
    out += text_at(frame.left - 8, frame.top + (static_cast<double>(i) + 0.5) * bar, frame.height,
                   cut_to(bars[i].label, frame.left - 14, small_px + 1), "right", small_px + 1);
  return out;
}

}  // namespace

std::string why_no_breakdown(const PlotRequest& request) {
  if (trains(request.results)) return "weir run --figures draws the steps of a run that trains";
  if (request.results.sweep) return lines_of(request).lines.empty() ? "no point is done" : "";
  return bars_of_run(request.results.points[0].summary).empty() ? "the summary has no devices" : "";
}

Figure breakdown(const PlotRequest& request) {
  const bool sweep = request.results.sweep;
  const auto [bars, others] =
      sweep ? bars_of_sweep(request) : Bars{bars_of_run(request.results.points[0].summary), ""};
  write_data(request, bars);
  double label = 0, most = 0;
  for (const Bar& b : bars) {
    label = std::max(label, text_width(b.label, small_px + 1));
    most = std::max(most, std::isfinite(b.energy) ? b.energy : 0);
  }
  constexpr double bar = 32;
  std::string note;
  if (sweep) {
    const Lines all = lines_of(request);
    note = all.title + (all.along.empty()   ? ""
                        : all.title.empty() ? "Each at its most output tokens/s"
                                            : "; each at its most output tokens/s");
  }
  const Legend legend =
      legend_of({{"compute", "#0072B2"}, {"memory", "#E69F00"}, {"links", "#009E73"}, {"host", "#CC79A7"}},
                Swatch::box, note);
  const double left = 20 + std::min(240.0, label), right = canvas_width - 24, gap = 34,
               top = legend.height + 12, bottom = top + bar * static_cast<double>(bars.size()),
               split = left + 0.58 * (right - left);
  const int height = static_cast<int>(bottom + 84) + note_height(others);
  const Frame time{left, split - gap / 2, top, bottom, height},
      energy{split + gap / 2, right, top, bottom, height};
  const ChartAxis percent{.low = 0, .high = 100, .log = false, .tics = {0, 50, 100}};
  const ChartAxis joules = axis_over({0, most}, From::zero, false);
  const ChartAxis rows{.low = static_cast<double>(bars.size()) - 0.5, .high = -0.5, .log = false, .tics = {}};
  std::string body =
      "set multiplot\n" + legend.settings(height) + note_below(others, height) + names(bars, time, bar) +
      time.axes(percent, rows) + time.x_title("Share of the run (%)") +
      "set grid noytics\nset style fill solid 1.0 noborder\nh = 0.36\n"
      "plot 'breakdown.csv' using (0):1:(0):3:($1-h):($1+h) skip 1 with boxxyerror lc rgb '#0072B2' notitle, "
      "\\\n"
      "     '' using 3:1:3:($3+$4):($1-h):($1+h) skip 1 with boxxyerror lc rgb '#E69F00' notitle, \\\n"
      "     '' using 3:1:($3+$4):($3+$4+$5):($1-h):($1+h) skip 1 with boxxyerror lc rgb '#009E73' notitle, "
      "\\\n"
      "     '' using 3:1:($3+$4+$5):($3+$4+$5+$6):($1-h):($1+h) skip 1 with boxxyerror lc rgb '#CC79A7' "
      "notitle\n"
      "unset label\nunset object\n";
  body +=
      energy.axes(joules, rows) + energy.x_title(sweep ? "J/output token" : "Energy (kJ)") +
      "plot 'breakdown.csv' using (0):1:(0):7:($1-h):($1+h) skip 1 with boxxyerror lc rgb '#56B4E9' notitle\n"
      "unset multiplot\n";
  return {.name = "breakdown", .height = height, .settings = "", .body = body};
}

}  // namespace weir
