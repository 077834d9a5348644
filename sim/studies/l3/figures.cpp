// Figures as the paper draws them, of the study's CSVs: throughput.svg (Figure 8), scaling.svg (9),
// ablation.svg and prediction.svg (10), latency.svg (11), utilisation.svg and breakdown.svg (2). With --only
// those whose CSV is there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "sim/app/output/gnuplot.h"
#include "sim/app/results/csv.h"
#include "sim/studies/bars.h"
#include "sim/studies/l3/study.h"

namespace weir {
namespace l3 {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
// Okabe and Ito's colours (sim/app/plot/canvas), from light to dark of a scale.
const std::vector<Series> system_series = {{"GPU", "#999999"},   {"HBM-PIM", "#E69F00"}, {"CPU", "#56B4E9"},
                                           {"R-PIM", "#009E73"}, {"NEO", "#CC79A7"},     {"L3", "#0072B2"}};

double number(const Table& table, std::size_t row, const char* column) {
  return table.text(row, column).empty() ? none : table.number(row, column);
}

// A group's numbers, a column of both sets each; begins the group where it is new.
void put(Bars& bars, const std::string& group, double judged, double physical) {
  if (bars.groups.empty() || bars.groups.back() != group) {
    bars.groups.push_back(group);
    bars.judged.emplace_back();
    bars.physical.emplace_back();
  }
  bars.judged.back().push_back(judged);
  bars.physical.back().push_back(physical);
}

Bars& panel_of(std::vector<Bars>& panels, const std::string& title) {
  if (panels.empty() || panels.back().title != title) panels.push_back({.title = title});
  return panels.back();
}

void draw_throughput(ResultDirectory& directory) {
  const Table runs = Table::read(directory.file("end_to_end.csv"));
  BarFigure figure{.name = "throughput",
                   .ylabel = "Output tokens/s over GPU",
                   .series = system_series,
                   .xlabel = "*: requests that never fit GPU and HBM-PIM are left out there"};
  for (std::size_t i = 0, series = 0; i < runs.rows(); ++i, ++series) {
    Bars& panel = panel_of(figure.panels, runs.text(i, "trace"));
    const std::string model = runs.text(i, "model");
    const auto named = std::ranges::find(system_series, runs.text(i, "system"), &Series::title);
    if (named == system_series.end()) throw std::logic_error("a system without a colour");
    const auto at = static_cast<std::size_t>(named - system_series.begin());
    for (series = series > at ? 0 : series; series < at; ++series) put(panel, model, none, none);
    put(panel, model, number(runs, i, "ideal_over_gpu"), number(runs, i, "physical_over_gpu"));
  }
  for (std::size_t i = 0; i < runs.rows(); ++i)
    if (runs.text(i, "system") == gpu_only.title && runs.number(i, "ideal_rejected") > 0)
      for (Bars& bars : figure.panels)
        if (bars.title == runs.text(i, "trace"))
          for (std::string& group : bars.groups)
            if (group == runs.text(i, "model")) group += "*";
  draw_bars(directory, figure);
}

void draw_scaling(ResultDirectory& directory) {
  const Table gains = Table::read(directory.file("scaling.csv"));
  BarFigure figure{.name = "scaling",
                   .ylabel = "Over (512 GB, 2 ranksets)",
                   .series = {{"x1", "#C6DBEF"}, {"x2", "#6BAED6"}, {"x4", "#2171B5"}, {"x8", "#08306B"}},
                   .panel_height = 240};
  for (std::size_t i = 0; i < gains.rows(); ++i)
    put(panel_of(figure.panels, gains.text(i, "model")), gains.text(i, "scaled"), gains.number(i, "ideal"),
        number(gains, i, "physical"));
  figure.panels.front().published = {
      {none, none, none, 1.1}, {none, none, none, 1.6}, {none, none, none, 5.1}};
  draw_bars(directory, figure);
}

void draw_ablation(ResultDirectory& directory) {
  const Table gains = Table::read(directory.file("ablation.csv"));
  Bars bars{.title = "OpenR1"};
  for (std::size_t i = 0; i < gains.rows(); ++i) {
    const std::string step = gains.text(i, "step");
    if (step == "sched") put(bars, gains.text(i, "model"), 1, 1);
    if (step == "sched" || step == "comm" || step == "total")
      put(bars, gains.text(i, "model"), gains.number(i, "ideal"), gains.number(i, "physical"));
  }
  bars.published = {{none, 1.3, none, 1.7}, {none, none, none, none}};
  draw_bars(directory, {.name = "ablation",
                        .ylabel = "Throughput over naive",
                        .series = {{"naive", "#999999"},
                                   {"scheduling", "#E69F00"},
                                   {"communication", "#56B4E9"},
                                   {"both", "#0072B2"}},
                        .panels = {bars},
                        .columns = 1,
                        .panel_height = 240});
}

void draw_prediction(ResultDirectory& directory) {
  const Table errors = Table::read(directory.file("prediction.csv"));
  Bars bars{.title = "1,000 batches, 20 % of them held out"};
  for (std::size_t i = 0; i < errors.rows(); ++i)
    put(bars, errors.text(i, "model"), errors.number(i, "ideal_percent"),
        errors.number(i, "physical_percent"));
  draw_bars(directory, {.name = "prediction",
                        .ylabel = "Mean relative error (%)",
                        .series = {{"attention of prompts", "#E69F00"},
                                   {"attention of decodes", "#0072B2"},
                                   {"FC", "#009E73"}},
                        .panels = {bars},
                        .columns = 1,
                        .panel_height = 240});
}

void draw_latency(ResultDirectory& directory) {
  const Table times = Table::read(directory.file("latency.csv"));
  Bars bars{.title = "GPT-89B, 6,000 tokens a request"};
  for (std::size_t i = 0; i < times.rows(); ++i)  // the first row is the GPU at the smallest batch
    put(bars, "batch " + times.text(i, "batch"),
        times.number(i, "eff_tbt_ms") / times.number(0, "eff_tbt_ms"),
        times.number(i, "physical_tbt_ms") / times.number(0, "physical_tbt_ms"));
  draw_bars(directory, {.name = "latency",
                        .ylabel = "TBT over GPU at 16",
                        .series = {{"GPU", "#999999"},
                                   {"RS-2", "#C6DBEF"},
                                   {"RS-4", "#6BAED6"},
                                   {"RS-8", "#2171B5"},
                                   {"RS-16", "#08306B"}},
                        .panels = {bars},
                        .columns = 1,
                        .panel_height = 260});
}

constexpr const char* utilisation = R"gp(set logscale x 2
set xrange [64:8192]
set yrange [0:105]
set xlabel "Batched tokens (Llama2-7B, feed-forward GEMMs)"
set ylabel "% of an A100's peak"
set key outside top center horizontal maxcols 2
plot "../utilisation.csv" skip 1 using 1:2 with linespoints lc rgb "#0072B2" lw 3 pt 7 title "FLOP/s", \
     "" skip 1 using 1:3 with linespoints lc rgb "#D55E00" lw 3 pt 5 title "memory bandwidth", \
     "" skip 1 using 1:4 with lines lc rgb "#0072B2" lw 2.5 dt 2 title "FLOP/s, ideal", \
     "" skip 1 using 1:5 with lines lc rgb "#D55E00" lw 2.5 dt 2 title "bandwidth, ideal"
)gp";

constexpr const char* breakdown = R"gp(set style fill solid 1.0 noborder
set boxwidth 0.6
set xrange [-0.6:4.6]
set yrange [0:*]
set offsets 0, 0, graph 0.14, 0
set xtics scale 0 ("1K" 0, "2K" 1, "4K" 2, "8K" 3, "16K" 4)
set xlabel "Context (Llama2-7B, batch 4, one A100)"
set ytics 10
set ylabel "Decode step, ms, physical"
set key outside top center horizontal
plot "../breakdown.csv" skip 1 using 0:($2+$3) with boxes lc rgb "#0072B2" title "attention, % of the step (published)", \
     "" skip 1 using 0:3 with boxes lc rgb "#E69F00" title "FC", \
     "" skip 1 using 0:($2+$3):(sprintf("%.0f %% (%.0f)", 100*$2/($2+$3), $6)) with labels offset 0,0.7 notitle
)gp";

}  // namespace
}  // namespace l3

void draw_l3(ResultDirectory& directory, const std::vector<ReproducedRow>&) {
  using namespace l3;
  const auto has = [&](const char* file) { return std::filesystem::exists(directory.file(file)); };
  if (has("end_to_end.csv")) draw_throughput(directory);
  if (has("scaling.csv")) draw_scaling(directory);
  if (has("ablation.csv")) draw_ablation(directory);
  if (has("prediction.csv")) draw_prediction(directory);
  if (has("latency.csv")) draw_latency(directory);
  if (has("utilisation.csv"))
    draw(directory, {.name = "utilisation", .height = 420, .settings = "", .body = utilisation});
  if (has("breakdown.csv"))
    draw(directory, {.name = "breakdown", .height = 420, .settings = "", .body = breakdown});
}

}  // namespace weir
