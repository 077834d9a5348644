// lengths.svg (Figure 4) and fused.svg (Figure 5), of lengths.csv and fused.csv.
#include <fmt/format.h>

#include "sim/app/output/gnuplot.h"
#include "sim/studies/preserve/study.h"

namespace weir::preserve {
namespace {

constexpr const char* cells = R"gp(small = sprintf(",%g", 17*pt)
unset border
unset grid
unset key
unset colorbox
set style fill solid 1.0 noborder
log2(x) = log(x)/log(2)
shown(text) = strlen(text) ? sprintf("%.2f", real(text)) : "N/A"
)gp";

// Grey where nothing is coloured over it: a cell without a value.
std::string heatmap(const std::string& file, const std::string& rows, int x, int y, int value) {
  return fmt::format(
      "plot \"../{0}\" skip 1 {1} using (log2(${2})):(log2(${3})):(log2(${2})-0.48):(log2(${2})+0.48):"
      "(log2(${3})-0.47):(log2(${3})+0.47) with boxxyerror lc rgb \"#d8d8d8\", \\\n"
      "     \"\" skip 1 {1} using (log2(${2})):(log2(${3})):(log2(${2})-0.48):(log2(${2})+0.48):"
      "(log2(${3})-0.47):(log2(${3})+0.47):{4} with boxxyerror lc palette, \\\n"
      "     \"\" skip 1 {1} using (log2(${2})):(log2(${3})):(shown(strcol({4}))) with labels font small\n",
      file, rows, x, y, value);
}

constexpr const char* lengths_body = R"gp(stats "../lengths.csv" skip 1 using 4 nooutput
set cbrange [1:STATS_max]
set palette defined (0 "#ffffff", 1 "#D55E00")
set xrange [-0.5:8.5]
set yrange [9.5:16.5]
unset xtics
unset ytics
set for [i=10:16] ytics add (sprintf("%dk", 2**(i-10)) i)
set ytics scale 0
set ylabel "Length" offset 0.5,0
set lmargin at screen 0.13
set rmargin at screen 0.99
set multiplot
)gp";
constexpr const char* batches_body = R"gp(set for [i=0:8] xtics add (sprintf("%d", 2**i) i)
set xtics scale 0 offset 0,0.4
set xlabel "Batch, 4 x Ascend 910B, int8" offset 0,0.9
)gp";

constexpr const char* fused_body = R"gp(stats "../fused.csv" skip 1 using 3 nooutput
far = STATS_max - 1 > 1 - STATS_min ? STATS_max - 1 : 1 - STATS_min
set cbrange [1-far:1+far]
set palette defined (-1 "#0072B2", 0 "#ffffff", 1 "#D55E00")
set xrange [6.5:13.5]
set yrange [3.5:10.5]
unset xtics
unset ytics
set for [i=7:13] xtics add (sprintf("%d", 2**i) i)
set for [i=4:10] ytics add (sprintf("%d", 2**i) i)
set xtics scale 0 offset 0,0.4
set ytics scale 0
set title "PRESERVE over fused GEMM and all-reduce" offset 0,-0.6
set ylabel "Batch"
set xlabel "Length, Llama3-70B fp16 on 4 x Ascend 910B" offset 0,0.9
)gp";

}  // namespace

void draw_lengths(ResultDirectory& directory) {
  constexpr int panel = 200, between = 42, below = 62;
  const auto models = static_cast<int>(largest_models.size());
  const int height = models * (panel + between) + below;
  std::string body = std::string(cells) + lengths_body;
  for (int i = 0; i < models; ++i) {
    const int bottom = below + (models - 1 - i) * (panel + between);
    body += fmt::format(
        "set title \"{}, speed-up of a last step\" offset 0,-0.8\n"
        "set bmargin at screen {}.0/height\nset tmargin at screen {}.0/height\n",
        largest_models[static_cast<std::size_t>(i)], bottom, bottom + panel);
    if (i == models - 1) body += batches_body;
    constexpr int rows = 9 * 7;  // batches x lengths
    body += heatmap("lengths.csv", fmt::format("every ::{}::{}", rows * i, rows * (i + 1) - 1), 2, 3, 4);
  }
  draw(directory, {.name = "lengths", .height = height, .settings = "", .body = body + "unset multiplot\n"});
}

void draw_fused(ResultDirectory& directory) {
  draw(directory, {.name = "fused",
                   .height = 440,
                   .settings = cells,
                   .body = fused_body + heatmap("fused.csv", "", 2, 1, 3)});
}

}  // namespace weir::preserve
