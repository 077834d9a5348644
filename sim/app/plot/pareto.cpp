// The points that no other beats in both metrics, each with its name; the others in grey.
#include <fmt/format.h>

#include <algorithm>
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

struct Dot {
  double x = 0, y = 0;
  std::string label;
  bool front = false;
};

struct Box {
  double left, right, top, bottom;
  bool meets(const Box& b) const {
    return left < b.right && b.left < right && top < b.bottom && b.top < bottom;
  }
};

struct Names {
  std::string x, y;
};
Names names_of(const PlotRequest& request) {
  return {request.x.empty() ? "tokens_per_s_per_user" : request.x,
          request.y.empty() ? "tokens_per_s_per_device" : request.y};
}

std::vector<Dot> dots_of(const PlotRequest& request) {
  const auto [x, y] = names_of(request);
  const Lines all = lines_of(request);
  std::vector<Dot> dots;
  std::vector<std::vector<double>> rows;
  for (const Line& line : all.lines)
    for (const Repeated* point : line.points) {
      Dot dot{point->metric(x).mean, point->metric(y).mean, line.label};
      if (!std::isfinite(dot.x) || !std::isfinite(dot.y)) continue;
      if (const Json* along = value_of(point->varied, all.along))
        dot.label += fmt::format("{}@{}", dot.label.empty() ? "" : " ", value_text(*along));
      rows.push_back({less_is_better(x) ? dot.x : -dot.x, less_is_better(y) ? dot.y : -dot.y});
      dots.push_back(std::move(dot));
    }
  const std::vector<bool> front = non_dominated(rows);
  for (std::size_t i = 0; i < dots.size(); ++i) dots[i].front = front[i];
  std::stable_sort(dots.begin(), dots.end(), [](const Dot& a, const Dot& b) { return a.x < b.x; });
  return dots;
}

// Points of the front that stand on one another share a name: the first one's, and how many more.
void merge_close(std::vector<Dot>& dots, const Frame& frame, const ChartAxis& x, const ChartAxis& y) {
  for (std::size_t i = 0; i < dots.size(); ++i) {
    if (!dots[i].front || dots[i].label.empty()) continue;
    int more = 0;
    for (std::size_t j = i + 1; j < dots.size(); ++j) {
      const double dx = frame.x(x, dots[i].x) - frame.x(x, dots[j].x),
                   dy = frame.y(y, dots[i].y) - frame.y(y, dots[j].y);
      if (!dots[j].front || dots[j].label.empty() || std::hypot(dx, dy) > 5) continue;
      dots[j].label.clear();
      ++more;
    }
    if (more) dots[i].label += fmt::format(" and {} more", more);
  }
}

// Beside each point of the front, where neither points nor other names are; the one for which there is no
// room goes without (its name is in the data).
std::string labels_of(const std::vector<Dot>& dots, const Frame& frame, const ChartAxis& x,
                      const ChartAxis& y) {
  constexpr double letter = small_px, half = letter * 0.55;
  std::vector<Box> taken;
  for (const Dot& dot : dots) {
    const double px = frame.x(x, dot.x), py = frame.y(y, dot.y), r = dot.front ? 7 : 4;
    taken.push_back({px - r, px + r, py - r, py + r});
  }
  const Dot* before = nullptr;
  for (const Dot& dot : dots) {  // the line through the front
    if (!dot.front) continue;
    if (before) {
      const double fx = frame.x(x, before->x), fy = frame.y(y, before->y), tx = frame.x(x, dot.x),
                   ty = frame.y(y, dot.y);
      const int steps = static_cast<int>(std::hypot(tx - fx, ty - fy) / 6) + 1;
      for (int i = 1; i < steps; ++i) {
        const double px = fx + (tx - fx) * i / steps, py = fy + (ty - fy) * i / steps;
        taken.push_back({px - 1, px + 1, py - 1, py + 1});
      }
    }
    before = &dot;
  }
  std::string out;
  for (const Dot& dot : dots) {
    if (!dot.front || dot.label.empty()) continue;
    const double px = frame.x(x, dot.x), py = frame.y(y, dot.y), width = text_width(dot.label, letter);
    const struct {
      double x, y;
      const char* anchor;
    } places[] = {{px + 11, py - 10, "left"}, {px + 11, py, "left"},       {px, py - 20, "center"},
                  {px + 11, py - 24, "left"}, {px - 11, py + 12, "right"}, {px - 11, py, "right"},
                  {px + 11, py + 12, "left"}, {px - 11, py - 12, "right"}, {px, py + 20, "center"}};
    for (const auto& place : places) {
      const double from = place.anchor == std::string("left")    ? place.x
                          : place.anchor == std::string("right") ? place.x - width
                                                                 : place.x - width / 2;
      const Box box{from - 2, from + width + 2, place.y - half, place.y + half};
      const bool inside = box.left > frame.left && box.right < canvas_width - 4 && box.top > frame.top - 16 &&
                          box.bottom < frame.bottom;
      if (!inside || std::any_of(taken.begin(), taken.end(), [&](const Box& b) { return b.meets(box); }))
        continue;
      taken.push_back(box);
      out += text_at(place.x, place.y, frame.height, dot.label, place.anchor, letter);
      break;
    }
  }
  return out;
}

void write_data(const PlotRequest& request, const std::vector<Dot>& dots) {
  const auto [x, y] = names_of(request);
  OutputFile data(request.folder / "figures" / "pareto.csv");
  data.print("{},{},front,label\n", column_name(x), column_name(y));
  for (const bool front : {true, false}) {  // two blocks, for gnuplot's index
    for (const Dot& dot : dots)
      if (dot.front == front) data.print("{},{},{},{}\n", dot.x, dot.y, front ? 1 : 0, csv_text(dot.label));
    if (front) data.text("\n\n");
  }
  data.close();
}

// Names stand to the right of their points.
ChartAxis roomy(const std::vector<double>& values, const std::vector<Dot>& dots) {
  double widest = 0;
  for (const Dot& dot : dots)
    if (dot.front) widest = std::max(widest, text_width(dot.label, small_px));
  const double share = std::min(0.42, (widest + 18) / 560), more = 1 / (1 - share);
  ChartAxis axis = axis_over(values, From::data);
  axis.high =
      axis.log ? axis.low * std::pow(axis.high / axis.low, more) : axis.low + more * (axis.high - axis.low);
  return axis;
}

}  // namespace

std::string why_no_pareto(const PlotRequest& request) {
  if (!request.results.sweep) return "a run is one point; it takes a sweep";
  return dots_of(request).size() < 2 ? "fewer than two points have both metrics" : "";
}

Figure pareto(const PlotRequest& request) {
  const auto [x, y] = names_of(request);
  std::vector<Dot> dots = dots_of(request);
  write_data(request, dots);
  std::vector<double> xs, ys;
  for (const Dot& dot : dots) xs.push_back(dot.x), ys.push_back(dot.y);
  const SloBounds slo = slo_of(request.results);
  let_see(xs, slo.of(x));
  let_see(ys, slo.of(y));
  const ChartAxis y_axis = axis_over(ys, From::data);
  ChartAxis x_axis = roomy(xs, dots);
  std::vector<LegendEntry> entries{{"not dominated", "#0072B2", 7, "(6,4)"}};
  const bool dominated = std::any_of(dots.begin(), dots.end(), [](const Dot& dot) { return !dot.front; });
  if (dominated) entries.push_back({"dominated", grey, 7, ""});
  const Lines all = lines_of(request);
  std::string title = all.title;
  if (!all.along.empty()) title += (title.empty() ? "@ " : " @ ") + pointer_title(all.along);
  const Legend legend = legend_of(entries, Swatch::line, title);
  const int height = legend.height + 12 + 400 + 84;
  const Frame frame{left_margin(y_axis), canvas_width - 20.0, legend.height + 20.0, legend.height + 412.0,
                    height};
  merge_close(dots, frame, x_axis, y_axis);
  x_axis = roomy(xs, dots);  // for the names as they are now
  std::string body = legend.settings(height) + frame.axes(x_axis, y_axis) + frame.x_title(metric_title(x)) +
                     frame.y_title(metric_title(y)) + labels_of(dots, frame, x_axis, y_axis) +
                     slo_line(slo.of(x), Bounded::x, frame, x_axis) +
                     slo_line(slo.of(y), Bounded::y, frame, y_axis);
  body += "plot ";
  if (dominated)
    body += fmt::format(
        "'pareto.csv' index 1 using 1:2 with points pt 7 ps 0.6 lc rgb '{}' notitle, \\\n     ", grey);
  body +=
      "'pareto.csv' index 0 using 1:2 skip 1 with lines lw 1.5 dt (6,4) lc rgb '#0072B2' notitle, \\\n"
      "     'pareto.csv' index 0 using 1:2 skip 1 with points pt 7 ps 1.1 lc rgb '#0072B2' notitle\n";
  return {.name = "pareto", .height = height, .settings = "", .body = body};
}

}  // namespace weir
