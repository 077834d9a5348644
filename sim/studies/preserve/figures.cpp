// Figures as the paper draws them, of the study's CSVs: footprints.svg (Figure 2), l2_size.svg (6),
// density.svg (7) and networks.svg (8); bound.svg is not the paper's. With --only those whose CSV is there.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "sim/app/output/gnuplot.h"
#include "sim/studies/preserve/study.h"
#include "sim/studies/validation/kernels.h"

namespace weir {
namespace preserve {
namespace {

// A colour a kind, a point a model; a column of the legend each. Okabe and Ito's colours
// (sim/app/plot/canvas).
struct Kind {
  const char* colour;
  std::vector<const char*> models;
};
const std::vector<Kind> kinds = {
    {"#0072B2", {"llama3-8b", "mistral-7b", "phi3-small", "qwen2-7b", "phi3-medium"}},
    {"#D55E00", {"llama3-70b", "qwen2-72b", "qwen1.5-110b", "llama3.1-405b"}},
    {"#009E73", {"phi3.5-moe", "mixtral-8x7b", "mixtral-8x22b"}},
};
constexpr int points[] = {7, 9, 5, 11, 13};

constexpr const char* legend = R"gp(small = sprintf(",%g", 16*pt)
set key outside top center vertical maxrows 5 Left reverse samplen 1.6 spacing 0.95 font small
)gp";
constexpr const char* next = ", \\\n     ";

// Where a file has a model: gnuplot's `every` of its rows, from the given one on in steps, and its columns.
struct Place {
  std::function<std::string(std::size_t model, std::size_t first, int step)> rows;
  std::function<std::string(std::size_t model)> columns;
};

// Each model marks another place of its line: lines that coincide show all of their marks.
std::string lines(const char* file, const Place& place) {
  std::string plot;
  for (const Kind& kind : kinds)
    for (std::size_t i = 0; i < kind.models.size(); ++i) {
      const auto model = static_cast<std::size_t>(std::ranges::find(explored_models, kind.models[i]) -
                                                  explored_models.begin());
      const auto part = [&](std::size_t first, int step, const std::string& with) {
        plot +=
            fmt::format("{}\"{}\" skip 1 {} using {} with {} lc rgb \"{}\" notitle", plot.empty() ? "" : next,
                        file, place.rows(model, first, step), place.columns(model), with, kind.colour);
      };
      part(0, 1, "lines lw 1.5");
      part(i, static_cast<int>(std::size(points)), fmt::format("points pt {} ps 0.8", points[i]));
    }
  return plot;
}

// `more` fills up the second column, then the third.
std::string entries(const std::vector<std::string>& more) {
  std::string plot;
  for (const Kind& kind : kinds) {
    for (std::size_t i = 0; i < kind.models.size(); ++i)
      plot += fmt::format("{}keyentry with linespoints lc rgb \"{}\" lw 1.5 pt {} ps 0.8 title \"{}\"", next,
                          kind.colour, points[i], kind.models[i]);
    if (&kind == &kinds[1]) plot += fmt::format("{}keyentry {}", next, more.front());
  }
  for (std::size_t i = 1; i < more.size(); ++i) plot += fmt::format("{}keyentry {}", next, more[i]);
  return plot;
}

constexpr const char *bold = "with lines lc rgb \"#000000\" lw 4",
                     *dashed = "with lines lc rgb \"#000000\" lw 2.5 dt 2",
                     *published = "with points lc rgb \"#E69F00\" pt 7 ps 1.2";

// A row a point, a column a model, then the mean in both sets.
std::string lines_and_means(const char* file) {
  const std::size_t mean = explored_models.size() + 2;
  return lines(file, {[](std::size_t, std::size_t first, int step) {
                        return fmt::format("every {}::{}", step, first);
                      },
                      [](std::size_t model) { return fmt::format("1:{}", model + 2); }}) +
         fmt::format("{0}\"{1}\" skip 1 using 1:{2} {3} notitle{0}\"\" skip 1 using 1:{4} {5} notitle", next,
                     file, mean, bold, mean + 1, dashed);
}

constexpr const char* footprints = R"gp(set multiplot
set logscale x 2
set logscale y 10
set xrange [1:64]
set yrange [2:3000]
set ytics (10, 100, 1000)
set xtics offset 0,0.3
set tmargin at screen 1-156.0/height
set bmargin at screen 78.0/height
set lmargin at screen 86.0/680
set rmargin at screen 322.0/680
set label 1 "Attention" at graph 0.5, graph 1.06 center
set label 2 "MB a device" at screen 22.0/680, screen 0.42 center rotate
set label 3 "Devices, tensor parallel" at screen 0.5, screen 20.0/height center
set key at screen 0.5, screen 1-8.0/height center top
)gp";
constexpr const char* second_panel = R"gp(unset key
unset label 2
unset label 3
set label 1 "MLP"
set format y ""
set ytics ("" 10, "" 100, "" 1000)
set lmargin at screen 354.0/680
set rmargin at screen 590.0/680
)gp";

std::string half(int column) {  // a row a model and cluster
  const auto clusters = std::size(footprint_clusters);
  return lines("../footprints.csv", {[=](std::size_t model, std::size_t first, int step) {
                                       return fmt::format("every {}::{}::{}", step, clusters * model + first,
                                                          clusters * model + clusters - 1);
                                     },
                                     [=](std::size_t) { return fmt::format("2:{}", column); }});
}

void draw_footprints(ResultDirectory& directory) {
  std::string capacities, names;
  int i = 10;
  for (const auto& [device, name] :
       {std::pair{"ascend_910b", "910B"}, {"l40s", "L40S"}, {"h100_sxm", "H100"}}) {
    const double mb = 1e-6 * catalog_device(device)->spec().cache()->capacity.value();
    capacities += fmt::format("set arrow {} from 1, {} to 64, {} nohead lc rgb \"#404040\" lw 1.5 dt (6,4)\n",
                              i, mb, mb);
    names +=
        fmt::format("set label {} \"{} {:.0f}\" at graph 1.03, first {} left font small\n", i, name, mb, mb);
    ++i;
  }
  draw(directory, {.name = "footprints",
                   .height = 540,
                   .settings = legend,
                   .body = footprints + capacities + "plot " + half(3) +
                           entries({"with lines lc rgb \"#ffffff\" title \" \""}) + "\n" + second_panel +
                           names + "plot " + half(4) + "\nunset multiplot\n"});
}

constexpr const char* l2_size = R"gp(set xlabel "L2 of a device (MB)"
set ylabel "Latency over that at 8 MB"
set xrange [0:160]
set xtics 32
set yrange [*:1]
set ytics 0.1
plot )gp";

void draw_l2_size(ResultDirectory& directory) {
  draw(directory, {.name = "l2_size",
                   .height = 520,
                   .settings = legend,
                   .body = l2_size + lines_and_means("../l2_size.csv") +
                           entries({fmt::format("{} title \"mean\"", bold),
                                    fmt::format("{} title \"mean, physical\"", dashed)}) +
                           "\n"});
}

constexpr const char* density = R"gp(small = sprintf(",%g", 17*pt)
stats "../l2_size.csv" skip 1 using 16 nooutput
scale = STATS_max/14.8
set xlabel "L2 of a device (MB)"
set ylabel "Tokens/s/mm^2, over 32 dies"
set xrange [0:160]
set xtics 32
set ytics 0.02
set offsets graph 0, 0, graph 0.06, graph 0.04
set key outside top center vertical maxrows 5 Left reverse samplen 1.6 font small
$paper << end
104,14.8
8,11.8
end
plot "../l2_size.csv" skip 1 using 1:16 with lines lc rgb "#0072B2" lw 3.5 title "with prefetching", \
     "" skip 1 using 1:17 with lines lc rgb "#D55E00" lw 3.5 title "without", \
     "" skip 1 using 1:18 with lines lc rgb "#0072B2" lw 2.5 dt 2 title "with, physical", \
     "" skip 1 using 1:19 with lines lc rgb "#D55E00" lw 2.5 dt 2 title "without, physical", \
     $paper using 1:($2*scale) with points lc rgb "#000000" pt 7 ps 1 \
       title sprintf("the paper's peaks, 14.8 and 11.8, times %.4f", scale)
)gp";

constexpr const char* bound = R"gp(set xlabel "L2 of a device (MB)"
set ylabel "Speed-up, mean of 12 models"
set xrange [0:160]
set xtics 32
set yrange [1:*]
set ytics 0.1
set key outside top center vertical Left reverse samplen 2
plot "../bound.csv" skip 1 using 1:2 with linespoints lc rgb "#009E73" lw 3 pt 9 title "the best set of prefetches", \
     "" skip 1 using 1:4 with linespoints lc rgb "#0072B2" lw 3 pt 7 title "Algorithm 1", \
     "" skip 1 using 1:6 with linespoints lc rgb "#D55E00" lw 2.5 pt 6 dt 2 title "Algorithm 1, window-aware"
)gp";

constexpr const char* networks = R"gp(set xlabel "Bandwidth of a device's link (Gbit/s)"
set ylabel "Speed-up by prefetching"
set xrange [150:1050]
set xtics 200, 200
set ytics 0.05
$paper << end
200,1.18
1000,1.27
end
plot )gp";

void draw_networks(ResultDirectory& directory) {
  draw(directory, {.name = "networks",
                   .height = 520,
                   .settings = legend,
                   .body = networks + lines_and_means("../networks.csv") +
                           fmt::format("{}$paper using 1:2 {} notitle", next, published) +
                           entries({fmt::format("{} title \"mean\"", bold),
                                    fmt::format("{} title \"mean, physical\"", dashed),
                                    fmt::format("{} title \"mean, paper\"", published)}) +
                           "\n"});
}

}  // namespace
}  // namespace preserve

void draw_preserve(ResultDirectory& directory, const std::vector<ReproducedRow>&) {
  using namespace preserve;
  const auto has = [&](const char* file) { return std::filesystem::exists(directory.file(file)); };
  if (has("footprints.csv")) draw_footprints(directory);
  if (has("lengths.csv")) draw_lengths(directory);
  if (has("fused.csv")) draw_fused(directory);
  if (has("networks.csv")) draw_networks(directory);
  if (has("bound.csv")) draw(directory, {.name = "bound", .height = 460, .settings = "", .body = bound});
  if (!has("l2_size.csv")) return;
  draw_l2_size(directory);
  draw(directory, {.name = "density", .height = 500, .settings = "", .body = density});
}

}  // namespace weir
