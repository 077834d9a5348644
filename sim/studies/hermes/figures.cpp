// Figures as the paper draws them, of the study's CSVs: similarity.svg (Figure 4), offloading.svg (9),
// systems.svg (10), batches.svg (11), breakdown.svg (12), ablation.svg (13), dimms.svg (14), gpus.svg (15),
// multipliers.svg (16), servers.svg (17). With --only those whose CSV is there.
#include <algorithm>
#include <cmath>

#include "sim/app/output/gnuplot.h"
#include "sim/app/output/output_file.h"
#include "sim/studies/bars.h"
#include "sim/studies/hermes/study.h"

namespace weir {
namespace hermes {
namespace {

// Okabe and Ito's colours (sim/app/plot/canvas).
const std::vector<Series> offload_series = {{"Accelerate", "#999999"},  {"FlexGen", "#E69F00"},
                                            {"Deja Vu", "#56B4E9"},     {"Hermes-host", "#009E73"},
                                            {"Hermes-base", "#CC79A7"}, {"Hermes", "#0072B2"}};
// From light to dark of a scale.
const char* const scale_colours[] = {"#DEEBF7", "#9ECAE1", "#6BAED6", "#2171B5", "#08306B"};

// A published number of the last series of a group.
void publish(Bars& bars, const std::string& group, double value) {
  if (bars.judged.empty()) return;
  const std::size_t count = bars.judged.front().size();
  bars.published.resize(bars.groups.size(), std::vector<double>(count, no_bar));
  for (std::size_t g = 0; g < bars.groups.size(); ++g)
    if (bars.groups[g] == group) bars.published[g].back() = value;
}

void draw_end_to_end(ResultDirectory& directory) {
  const Table rates = Table::read(directory.file("end_to_end.csv"));
  const Columns columns{"model", "system", "paper_set", "physical"};
  Bars opt = bars_of(rates, columns, offload_series,
                     [&](std::size_t row) { return rates.text(row, "model").starts_with("OPT"); });
  opt.title = "batch 1, 128 in, 128 out";
  publish(opt, "OPT-66B", 20.37);
  draw_bars(directory, {.name = "offloading",
                        .ylabel = "Tokens/s",
                        .series = offload_series,
                        .panels = {opt},
                        .columns = 1,
                        .panel_height = 240,
                        .log_from = 0.1});
  std::vector<Series> of_hosts = offload_series;
  of_hosts.erase(of_hosts.begin() + 1, of_hosts.begin() + 3);
  Bars hosts = bars_of(rates, columns, of_hosts);
  hosts.title = opt.title;
  publish(hosts, "LLaMA2-70B", 13.75);
  draw_bars(directory, {.name = "systems",
                        .ylabel = "Tokens/s",
                        .series = of_hosts,
                        .panels = {hosts},
                        .columns = 1,
                        .panel_height = 240,
                        .log_from = 0.1});
}

void draw_batches(ResultDirectory& directory) {
  const Table rates = Table::read(directory.file("batches.csv"));
  BarFigure figure{.name = "batches",
                   .ylabel = "Tokens/s, paper's set",
                   .series = {offload_series.begin() + 1, offload_series.end()},
                   .xlabel = "Requests at once",
                   .log_from = 0.1};
  for (const SparseModel& model : models) {
    figure.panels.push_back(
        bars_of(rates, {"batch", "system", "tokens_per_s"}, figure.series,
                [&](std::size_t row) { return rates.text(row, "model") == model.title; }));
    figure.panels.back().title = model.title;
  }
  draw_bars(directory, figure);
}

void draw_ablation(ResultDirectory& directory) {
  const Table times = Table::read(directory.file("ablation.csv"));
  BarFigure figure{.name = "ablation",
                   .ylabel = "MLP latency over random",
                   .series = {{"random", "#999999"},
                              {"partition", "#E69F00"},
                              {"token only", "#56B4E9"},
                              {"layer only", "#009E73"},
                              {"adjustment", "#CC79A7"},
                              {"Hermes", "#0072B2"}},
                   .columns = 1,
                   .panel_height = 240};
  figure.panels = {bars_of(times, {"model", "scheduling", "over_random"}, figure.series)};
  figure.panels[0].title = "batch 1, drift 0.3";
  draw_bars(directory, figure);
}

struct Scale {  // of what a figure varies
  const char *name, *ylabel, *title, *file, *group, *column;
  std::vector<const char*> values;
  const char *unit, *judged, *physical;
};

void draw_scale(ResultDirectory& directory, const Scale& scale) {
  const Table table = Table::read(directory.file(scale.file));
  BarFigure figure{
      .name = scale.name, .ylabel = scale.ylabel, .series = {}, .columns = 1, .panel_height = 240};
  for (std::size_t i = 0; i < scale.values.size(); ++i)
    figure.series.push_back(
        {scale.values[i], scale_colours[i + std::size(scale_colours) - scale.values.size()]});
  figure.panels = {bars_of(table, {scale.group, scale.column, scale.judged, scale.physical}, figure.series)};
  figure.panels[0].title = scale.title;
  for (Series& series : figure.series) series.title += scale.unit;
  draw_bars(directory, figure);
}

const Scale scales[] = {{"dimms",
                         "Tokens/s",
                         "batch 1",
                         "dimms.csv",
                         "model",
                         "dimms",
                         {"1", "2", "4", "8", "16"},
                         " DIMMs",
                         "tokens_per_s",
                         ""},
                        {"gpus",
                         "Tokens/s",
                         "batch 1",
                         "gpus.csv",
                         "model",
                         "gpu",
                         {"T4", "RTX 3090", "RTX 4090"},
                         "",
                         "paper_set",
                         "physical"},
                        {"multipliers",
                         "Tokens/s over 32 multipliers",
                         "multipliers of a DIMM",
                         "multipliers.csv",
                         "run",
                         "multipliers",
                         {"32", "64", "128", "256", "512"},
                         "",
                         "over_32",
                         ""}};

void draw_servers(ResultDirectory& directory) {
  const Table rates = Table::read(directory.file("servers.csv"));
  BarFigure figure{
      .name = "servers",
      .ylabel = "Tokens/s",
      .series = {{"5 A100 (PP5)", "#999999"}, {"4 A100 (TP4)", "#E69F00"}, {"Hermes", "#0072B2"}},
      .columns = 1,
      .panel_height = 240,
      .xlabel = "Requests at once"};
  figure.panels = {bars_of(rates, {"batch", "system", "tokens_per_s"}, figure.series)};
  figure.panels[0].title = "LLaMA2-70B, A100s with TensorRT-LLM";
  draw_bars(directory, figure);
}

constexpr const char* similarity = R"gp(set xrange [0:31]
set yrange [0.6:1]
set xlabel "Tokens between"
set ylabel "Active again"
set key outside top center horizontal
plot "../similarity.csv" skip 1 using 1:2 with linespoints lc rgb "#0072B2" lw 5 pt 7 ps 1.4 title "density 0.20", \
     "" skip 1 using 1:3 with linespoints lc rgb "#D55E00" lw 2 pt 5 ps 0.7 title "density 0.10"
)gp";

// Bars of 100 %, each part over the ones before it.
constexpr const char* breakdown_body = R"gp(set style fill solid 1.0 noborder
set boxwidth 0.7
set xrange [-0.7:bars - 0.3]
set yrange [0:100]
set ylabel "% of a run"
set ytics 20
small = sprintf(",%g", 14*pt)
set xtics scale 0 rotate by 90 right font small
set lmargin at screen 0.16
set rmargin at screen 0.98
set bmargin at screen 0.41
set tmargin at screen 0.85
set key at screen 0.54, screen 0.98 center top horizontal maxrows 2 samplen 1 font small
all(n) = column(3) + column(4) + column(5) + column(6) + column(7) + column(8) + column(9)
up(n) = 100 * sum [i = 3:n] column(i) / all(0)
plot for [k = 0:6] "breakdown.csv" skip 1 using 1:(up(9 - k)):xtic(2) with boxes lc rgb word(colours, 7 - k) \
     title word(titles, 7 - k)
)gp";

void draw_breakdown(ResultDirectory& directory) {
  const Table parts = Table::read(directory.file("breakdown.csv"));
  const char* const columns[] = {"prefill_ms",   "fc_on_dimms_ms", "fc_on_gpu_ms", "predictor_ms",
                                 "attention_ms", "transfer_ms",    "other_ms"};
  OutputFile data(directory.file("figures/breakdown.csv"));
  data.text("bar,name,prompt,FC on DIMMs,FC on GPU,predictor,attention,transfers,other\n");
  for (std::size_t row = 0; row < parts.rows(); ++row) {
    std::string system = parts.text(row, "system");
    if (system == base_system.title) system = "H-base";
    data.print(
        "{},{}", row,
        csv_text(fmt::format("{}, {}, {}", system, parts.text(row, "model"), parts.text(row, "batch"))));
    for (const char* column : columns) data.print(",{:.5g}", parts.number(row, column));
    data.text("\n");
  }
  data.close();
  draw(directory, {.name = "breakdown",
                   .height = 560,
                   .settings = fmt::format(
                       "bars = {}\n"
                       "colours = \"#E69F00 #0072B2 #56B4E9 #CC79A7 #009E73 #D55E00 #999999\"\n"
                       "titles = \"prompt 'FC on DIMMs' 'FC on GPU' predictor attention transfers other\"\n",
                       parts.rows()),
                   .body = breakdown_body});
}

}  // namespace
}  // namespace hermes

void draw_hermes(ResultDirectory& directory, const std::vector<ReproducedRow>&) {
  using namespace hermes;
  const auto has = [&](const char* file) { return std::filesystem::exists(directory.file(file)); };
  if (has("similarity.csv"))
    draw(directory, {.name = "similarity", .height = 360, .settings = "", .body = similarity});
  if (has("end_to_end.csv")) draw_end_to_end(directory);
  if (has("batches.csv")) draw_batches(directory);
  if (has("breakdown.csv")) draw_breakdown(directory);
  if (has("ablation.csv")) draw_ablation(directory);
  for (const Scale& scale : scales)
    if (has(scale.file)) draw_scale(directory, scale);
  if (has("servers.csv")) draw_servers(directory);
}

}  // namespace weir
