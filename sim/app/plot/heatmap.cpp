// A metric over two varied keys. Ranks of parallelism are one key, the layout; so are keys whose values go
// together. Where a sweep varies more, a cell is the best over the rest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "sim/app/output/gnuplot.h"
#include "sim/app/output/output_file.h"
#include "sim/app/plot/canvas.h"
#include "sim/app/plot/kinds.h"
#include "sim/app/ranking/slo_bounds.h"
#include "sim/app/results/labels.h"
#include "sim/app/results/metric.h"

namespace weir {
namespace {

struct Side {
  std::vector<std::string> pointers;
  std::string title;
  std::vector<std::string> labels;  // of its values, in the order they are drawn

  std::size_t place(const Repeated& r) const {
    const auto at = std::find(labels.begin(), labels.end(), label(r));
    return static_cast<std::size_t>(at - labels.begin());
  }
  std::string label(const Repeated& r) const {
    const Json* value = pointers.size() == 1 ? value_of(r.varied, pointers[0]) : nullptr;
    return value && pointers[0].find("/parallelism/") == std::string::npos
               ? value_text(*value)
               : brief_label_of(r.varied, pointers);
  }
};

// Does a value of `a` always come with one of `b`, and the other way round?
bool go_together(const std::vector<Repeated>& points, const std::string& a, const std::string& b) {
  if (is_layout(a) && is_layout(b)) return true;
  std::map<std::string, std::set<std::string>> forth, back;
  for (const Repeated& r : points) {
    const Json *x = value_of(r.varied, a), *y = value_of(r.varied, b);
    if (!x || !y) return false;
    forth[x->dump()].insert(y->dump());
    back[y->dump()].insert(x->dump());
  }
  const auto one = [](const auto& entry) { return entry.second.size() == 1; };
  return std::all_of(forth.begin(), forth.end(), one) && std::all_of(back.begin(), back.end(), one);
}

void set_labels(Side& side, const std::vector<Repeated>& points) {
  for (const std::string& pointer : side.pointers)
    if (side.pointers.size() == 1 || !is_layout(pointer))
      side.title += (side.title.empty() ? "" : ", ") + pointer_title(pointer);
  if (side.title.empty()) side.title = "layout";
  std::vector<std::pair<double, std::string>> numbers;
  for (const Repeated& r : points) {
    const std::string label = side.label(r);
    if (std::find(side.labels.begin(), side.labels.end(), label) != side.labels.end()) continue;
    side.labels.push_back(label);
    const Json* value = value_of(r.varied, side.pointers[0]);
    if (side.pointers.size() == 1 && value && value->is_number())
      numbers.emplace_back(value->get<double>(), label);
  }
  if (numbers.size() < side.labels.size()) return;
  std::sort(numbers.begin(), numbers.end());
  for (std::size_t i = 0; i < numbers.size(); ++i) side.labels[i] = numbers[i].second;
}

std::vector<Side> sides_of(const std::vector<Repeated>& points) {
  std::vector<Side> sides;
  for (const std::string& pointer : changing(points)) {
    const auto at = std::find_if(sides.begin(), sides.end(),
                                 [&](const Side& s) { return go_together(points, s.pointers[0], pointer); });
    if (at == sides.end())
      sides.push_back({{pointer}, "", {}});
    else
      at->pointers.push_back(pointer);
  }
  for (Side& side : sides) set_labels(side, points);
  return sides;
}

const Side* named(const std::vector<Side>& sides, const std::string& name) {
  if (name.empty()) return nullptr;  // not asked for, though a key may be called so
  for (const Side& side : sides)
    for (const std::string& pointer : side.pointers)
      if (name == pointer || name == short_name(pointer) || name == side.title) return &side;
  return nullptr;
}

struct Choice {
  const Side *x = nullptr, *y = nullptr;
};

// Across: the load, or else the numbers with the most values. Upwards: the rest with the most.
Choice choose(const std::vector<Side>& sides, const PlotRequest& request) {
  Choice c{named(sides, request.x), named(sides, request.y)};
  const std::string along = lines_of(request).along;
  if (!c.x && !along.empty() && named(sides, along) != c.y) c.x = named(sides, along);
  for (const Side** side : {&c.x, &c.y})
    for (const Side& s : sides)
      if (*side == nullptr || (side == &c.y && request.y.empty() && s.labels.size() > (*side)->labels.size()))
        if (&s != c.x && &s != c.y) *side = &s;
  return c;
}

struct Cell {
  double value = std::nan("");
  bool tried = false;
};
using Cells = std::vector<std::vector<Cell>>;  // [y][x]

Cells cells_of(const PlotRequest& request, const Side& x, const Side& y, const std::string& metric) {
  Cells cells(y.labels.size(), std::vector<Cell>(x.labels.size()));
  for (const Repeated& r : request.points) {
    Cell& cell = cells[y.place(r)][x.place(r)];
    cell.tried = true;
    const double value = r.metric(metric).mean;
    if (!std::isfinite(value)) continue;
    const bool better = less_is_better(metric) ? value < cell.value : value > cell.value;
    if (std::isnan(cell.value) || better) cell.value = value;
  }
  return cells;
}

// Viridis (van der Walt and Smith, BIDS/colormap), nine of its colours: even steps to the eye, in grey and
// under colour blindness too. Yellow is good, whichever way the metric runs.
constexpr const char* viridis[] = {"#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c",
                                   "#28ae80", "#5ec962", "#addc30", "#fde725"};

std::string palette(bool reversed) {
  std::string colours;
  for (std::size_t i = 0; i < std::size(viridis); ++i)
    colours += fmt::format("{}{} '{}'", i ? ", " : "", i, viridis[reversed ? std::size(viridis) - 1 - i : i]);
  return "set palette defined (" + colours + ")\n";
}

std::string side_labels(const Side& x, const Side& y, const Frame& frame, double cell_width,
                        double cell_height, bool upright) {
  std::string out;
  const std::size_t x_step = upright ? static_cast<std::size_t>(std::ceil(22 / cell_width)) : 1;
  for (std::size_t i = 0; i < x.labels.size(); i += x_step) {
    const double px = frame.left + (static_cast<double>(i) + 0.5) * cell_width;
    out += upright ? text_at(px, frame.bottom + 10, frame.height, cut_to(x.labels[i], 150, small_px),
                             "right rotate by 90", small_px)
                   : text_at(px, frame.bottom + 16, frame.height, x.labels[i], "center", small_px + 1);
  }
  const auto y_step = static_cast<std::size_t>(std::ceil(18 / cell_height));
  for (std::size_t i = 0; i < y.labels.size(); i += y_step)
    out += text_at(frame.left - 8, frame.bottom - (static_cast<double>(i) + 0.5) * cell_height, frame.height,
                   cut_to(y.labels[i], frame.left - 45, small_px + 1), "right", small_px + 1);
  return out;
}

double widest(const std::vector<std::string>& labels, double size) {
  double width = 0;
  for (const std::string& label : labels) width = std::max(width, text_width(label, size));
  return width;
}

std::string metric_of(const PlotRequest& request) {
  if (!request.metric.empty()) return request.metric;
  return trains(request.results) ? "training_0_samples_per_s" : "output_throughput";
}

struct Written {
  std::vector<double> values;
  double widest = 0;
};

// Columns: x, y, value, is the cell dark, did it fail, text.
Written write_cells(const PlotRequest& request, const Cells& cells, const ChartAxis& colour, bool reversed,
                    double& best) {
  OutputFile data(request.folder / "figures" / "heatmap.csv");
  data.text("x,y,value,on_dark,failed,text\n");
  Written written;
  for (std::size_t y = 0; y < cells.size(); ++y)
    for (std::size_t x = 0; x < cells[y].size(); ++x) {
      const Cell& cell = cells[y][x];
      if (!cell.tried) continue;
      const bool failed = std::isnan(cell.value);
      const std::string text =
          failed ? "failed" : with_dollars(metric_of(request), short_number(cell.value).substr(0, 8));
      const double place = failed ? 1 : reversed ? 1 - colour.place(cell.value) : colour.place(cell.value);
      data.print("{},{},{},{},{},{}\n", x, y, failed ? 0 : cell.value, !failed && place < 0.6 ? 1 : 0,
                 failed ? 1 : 0, csv_text(text));
      written.widest = std::max(written.widest, text_width(text, 1));
      if (!failed && (std::isnan(best) || (reversed ? cell.value < best : cell.value > best)))
        best = cell.value;
    }
  data.close();
  return written;
}

ChartAxis colour_axis(const Cells& cells) {
  std::vector<double> values;
  for (const auto& row : cells)
    for (const Cell& cell : row)
      if (std::isfinite(cell.value)) values.push_back(cell.value);
  ChartAxis axis = axis_over(values, From::data);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (*high > *low) axis.low = *low, axis.high = *high;
  std::erase_if(axis.tics, [&](double tic) { return tic < axis.low || tic > axis.high; });
  return axis;
}

std::string best_outline(const Cells& cells, double best) {
  for (std::size_t y = 0; y < cells.size(); ++y)
    for (std::size_t x = 0; x < cells[y].size(); ++x)
      if (cells[y][x].value == best)
        return fmt::format(
            "set object rectangle from {},{} to {},{} front fillstyle empty border rgb '#000000' linewidth "
            "3\n",
            static_cast<double>(x) - 0.46, static_cast<double>(y) - 0.46, static_cast<double>(x) + 0.46,
            static_cast<double>(y) + 0.46);
  return "";
}

}  // namespace

std::string why_no_heatmap(const PlotRequest& request) {
  if (!request.results.sweep) return "a run is one point; it takes a sweep";
  const std::vector<Side> sides = sides_of(request.points);
  if (sides.size() < 2) return "fewer than two keys vary";
  for (const std::string& name : {request.x, request.y})
    if (!name.empty() && !named(sides, name)) return "\"" + name + "\" is no key that varies";
  if (named(sides, request.x) && named(sides, request.x) == named(sides, request.y))
    return "--x and --y are the same key";
  for (const Repeated& r : request.points)
    if (std::isfinite(r.metric(metric_of(request)).mean)) return "";
  return "no point has " + metric_of(request);
}

Figure heatmap(const PlotRequest& request) {
  const std::string metric = metric_of(request);
  const std::vector<Side> sides = sides_of(request.points);
  const auto [x, y] = choose(sides, request);
  const Cells cells = cells_of(request, *x, *y, metric);
  const bool reversed = less_is_better(metric);
  const ChartAxis colour = colour_axis(cells);
  double best = std::nan("");
  const Written written = write_cells(request, cells, colour, reversed, best);

  const double left = 50 + std::min(210.0, widest(y->labels, small_px + 1)), right = canvas_width - 20;
  const auto columns = static_cast<double>(x->labels.size()), rows = static_cast<double>(y->labels.size());
  const double cell_width = (right - left) / columns, cell_height = std::clamp(420 / rows, 16.0, 60.0);
  const bool upright = widest(x->labels, small_px + 1) + 8 > cell_width;
  const double x_room = upright ? std::min(150.0, widest(x->labels, small_px)) + 14 : 26;
  const double top = 96, bottom = top + rows * cell_height;
  const int height = static_cast<int>(bottom + x_room + 38);
  const Frame frame{left, right, top, bottom, height};
  std::string title = metric_title(metric);
  if (const auto bound = slo_of(request.results).of(metric)) title += "; SLO " + short_number(*bound);
  if (sides.size() > 2) {
    std::string rest;
    for (const Side& s : sides)
      if (&s != x && &s != y) rest += (rest.empty() ? "" : ", ") + s.title;
    title += "; the best over " + rest;
  }
  std::string body =
      frame.settings() + palette(reversed) + side_labels(*x, *y, frame, cell_width, cell_height, upright);
  body += text_at((left + right) / 2, bottom + x_room + 18, height, x->title, "center", letter_px);
  body += text_at(20, (top + bottom) / 2, height, cut_to(y->title, bottom - top + 60, letter_px),
                  "center rotate by 90", letter_px);
  const bool fits = text_width(title, letter_px) < right - left;
  body += text_at(fits ? (left + right) / 2 : canvas_width / 2.0, 18, height,
                  cut_to(title, canvas_width - 20, letter_px), "center", letter_px);
  body +=
      colour.settings("cb") +
      fmt::format(
          "small = sprintf(',%g', {}*pt)\n"
          "unset border\nunset xtics\nunset ytics\nunset grid\nset xrange [-0.5:{}]\nset yrange [-0.5:{}]\n"
          "set colorbox horizontal user origin {:.5f},{:.5f} size {:.5f},{:.5f} noborder\n"
          "set cbtics scale 0 offset 0,0.4 font small\n",
          small_px, columns - 0.5, rows - 0.5, left / canvas_width, 1 - 50.0 / height,
          (right - left) / canvas_width, 14.0 / height);
  body += best_outline(cells, best);
  const double size =
      std::min({small_px, cell_height * 0.62, (cell_width - 6) / std::max(1e-9, written.widest)});
  body +=
      "set style fill solid 1.0 noborder\n"
      "plot 'heatmap.csv' using 1:2:($1-0.48):($1+0.48):($2-0.48):($2+0.48) skip 1 with boxxyerror lc rgb "
      "'#e4e4e4' notitle, \\\n"
      "     '' using ($5 == 0 ? $1 : NaN):2:($1-0.48):($1+0.48):($2-0.48):($2+0.48):3 skip 1 with boxxyerror "
      "lc palette notitle";
  if (size >= 11)
    for (const auto& [dark, shade] : {std::pair{1, "#ffffff"}, std::pair{0, "#000000"}})
      body += fmt::format(
          ", \\\n     '' using 1:($4 == {} ? $2 : NaN):6 skip 1 with labels font sprintf(',%g', {:.1f}*pt) "
          "tc rgb '{}' notitle",
          dark, size, shade);
  return {.name = "heatmap", .height = height, .settings = "", .body = body + "\n"};
}

}  // namespace weir
