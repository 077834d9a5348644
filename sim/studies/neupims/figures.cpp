// Figures as the paper draws them, of runs.csv: throughput.svg (Figure 12), techniques.svg (13) and
// layouts.svg (14); of transpim.csv transpim.svg (15); of algorithm1.csv, which the paper has no figure of,
// algorithm1.svg.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "sim/app/output/gnuplot.h"
#include "sim/app/output/output_file.h"
#include "sim/studies/neupims/study.h"
#include "sim/studies/validation/measured.h"

namespace weir {
namespace neupims {
namespace {

// Tokens a second of a run, in both sets.
struct Rate {
  double paper = 0, physical = 0;
};

class DrawnRuns {
 public:
  explicit DrawnRuns(const Table& runs) {
    for (std::size_t i = 0; i < runs.rows(); ++i) {
      if (!runs.text(i, "variant").empty()) continue;
      rates_[{runs.text(i, "device"), runs.text(i, "placement"), runs.text(i, "interleave"),
              runs.text(i, "model"), runs.number(i, "tensor") * runs.number(i, "pipeline"),
              runs.number(i, "tensor"), runs.text(i, "dataset"), runs.number(i, "batch")}] = {
          runs.number(i, "paper_tokens_per_s"), runs.number(i, "physical_tokens_per_s")};
    }
  }
  Rate at(const Machine& m, const Model& model, int devices, int tensor, const char* dataset,
          int batch) const {
    return rates_.at({m.device, m.placement, m.interleave, model.name, devices, tensor, dataset, batch});
  }

 private:
  using Key =
      std::tuple<std::string, std::string, std::string, std::string, double, double, std::string, double>;
  std::map<Key, Rate> rates_;
};

constexpr const char* throughput = R"gp(set multiplot
set lmargin at screen 92.0/680
set rmargin at screen 665.0/680
set style fill solid 1.0 noborder
set boxwidth 0.4
set xrange [-1:47]
set xtics scale 0 ("7B" 2, "13B" 8, "30B" 14, "175B" 20, "7B" 26, "13B" 32, "30B" 38, "175B" 44)
set label 1 "Alpaca" at 11, graph 0.93 center
set label 2 "ShareGPT" at 35, graph 0.93 center
set label 3 "Throughput over NPU-only" at screen 22.0/680, screen 0.52 center rotate
set label 4 "GPT3, batches of 64, 128, 256, 384, 512 a device" at screen 378.0/680, screen 22.0/height center
set arrow 1 from 23, graph 0 to 23, graph 1 nohead lc rgb "#909090" dt 2
set key at screen 0.5, screen 1-10.0/height center top horizontal
panel(top, bottom) = sprintf("set tmargin at screen %g; set bmargin at screen %g", 1-top/height, 1-bottom/height)
scale(most) = sprintf("set yrange [0:%g]; set ytics %g", 1.2*most, step_of(1.2*most, 4))
eval panel(84.0, 304.0)
eval scale(most_fitted)
set label 5 "Constants fitted to the paper" at graph 0.5, graph 1.08 center
plot "throughput.csv" using ($1-0.2):2 skip 1 with boxes lc rgb "#E69F00" title "NPU+PIM", \
     "" using ($1+0.2):3 skip 1 with boxes lc rgb "#0072B2" title "NeuPIMs", 1 lc rgb "#404040" lw 1 notitle
eval panel(386.0, 606.0)
eval scale(most_physical)
set label 5 "Physical: nothing fitted"
unset label 3
unset label 4
unset key
plot "throughput.csv" using ($1-0.2):4 skip 1 with boxes lc rgb "#E69F00" notitle, \
     "" using ($1+0.2):5 skip 1 with boxes lc rgb "#0072B2" notitle, 1 lc rgb "#404040" lw 1 notitle
unset multiplot
)gp";

constexpr const char* techniques = R"gp(set xlabel "Batch of a device (GPT3-7B, TP4, ShareGPT)"
set ylabel "Throughput over NPU+PIM"
set xrange [40:536]
set yrange [0:*]
set xtics (64, 128, 256, 384, 512)
set key outside top center vertical Left reverse samplen 2
plot "techniques.csv" using 1:2 skip 1 with linespoints lc rgb "#E69F00" pt 6 lw 2 title "dual row buffers", \
     "" using 1:3 skip 1 with linespoints lc rgb "#009E73" pt 8 lw 2 title "and min-load placement", \
     "" using 1:4 skip 1 with linespoints lc rgb "#0072B2" pt 4 lw 2 title "and interleaving", \
     "" using 1:5 skip 1 with linespoints lc rgb "#E69F00" pt 6 lw 2 dt 2 notitle, \
     "" using 1:6 skip 1 with linespoints lc rgb "#009E73" pt 8 lw 2 dt 2 notitle, \
     "" using 1:7 skip 1 with linespoints lc rgb "#0072B2" pt 4 lw 2 dt 2 notitle, \
     keyentry with lines lc rgb "#404040" dt 2 lw 2 title "the same, physical"
)gp";

constexpr const char* layouts_body = R"gp(set style fill solid 1.0 noborder
set boxwidth 0.26
set xrange [-0.6:2.6]
set yrange [0:*]
set xtics scale 0 ("GPT3-7B" 0, "GPT3-13B" 1, "GPT3-30B" 2)
set ylabel "Output tokens/s over (2, 4), physical"
set key outside top center horizontal
plot "layouts.csv" using ($1-0.28):2 skip 1 with boxes lc rgb "#0072B2" title "(TP, PP) = (8, 1)", \
     "" using 1:3 skip 1 with boxes lc rgb "#E69F00" title "(4, 2)", \
     "" using ($1+0.28):4 skip 1 with boxes lc rgb "#009E73" title "(2, 4)"
)gp";

constexpr const char* transpim = R"gp(set style fill solid 1.0 noborder
set boxwidth 0.4
set xrange [-1:47]
set yrange [1:1000]
set logscale y
set xtics scale 0 ("7B" 2, "13B" 8, "30B" 14, "175B" 20, "7B" 26, "13B" 32, "30B" 38, "175B" 44)
set ylabel "NeuPIMs over TransPIM"
set xlabel "GPT3, batches of 64, 128, 256, 384, 512 a device"
set label 1 "Alpaca" at 11, 700 center
set label 2 "ShareGPT" at 35, 700 center
set label 3 "the paper: 79 to 431, mean 228" at 46, 120 right textcolor rgb "#404040"
set arrow 1 from 23, 1 to 23, 1000 nohead lc rgb "#909090" dt 2
set object 1 rectangle from graph 0, first 79 to graph 1, first 431 fc rgb "#e8e8e8" fs solid noborder behind
set key outside top center horizontal
set title "ESTIMATE: TransPIM as GEMVs and nothing else"
plot "transpim_bars.csv" using ($1-0.2):2 skip 1 with boxes lc rgb "#E69F00" title "fitted constants", \
     "" using ($1+0.2):3 skip 1 with boxes lc rgb "#0072B2" title "physical", \
     228 lc rgb "#404040" lw 1 dt 2 notitle
)gp";

constexpr const char* algorithm1 = R"gp(set multiplot layout 2,1
set lmargin 9
set xrange [0:2048]
set xtics 256
set ylabel "Thousand cycles"
set yrange [0:*]
set ytics 40
set key outside top center vertical Left reverse samplen 2
plot "../algorithm1.csv" using 1:($4/1000) skip 1 with lines lc rgb "#404040" lw 2 title "bank model, physical", \
     "" using 1:($3/1000) skip 1 with lines lc rgb "#0072B2" lw 2 title "Algorithm 1 with ceilings", \
     "" using 1:($2/1000) skip 1 with lines lc rgb "#E69F00" lw 2 title "Algorithm 1 as printed"
set xlabel "Tokens attended to (GPT3-30B TP4: 14 heads)"
set ylabel "Over the bank model"
set yrange [0:1.2]
set ytics 0.2
unset key
plot "../algorithm1.csv" using 1:($3/$4) skip 1 with lines lc rgb "#0072B2" lw 2 notitle, \
     "" using 1:($2/$4) skip 1 with lines lc rgb "#E69F00" lw 2 notitle, 1 lc rgb "#404040" lw 1 notitle
unset multiplot
)gp";

void draw_throughput(ResultDirectory& directory, const DrawnRuns& runs) {
  OutputFile data(directory.file("figures/throughput.csv"));
  data.text("place,npupim_paper,neupims_paper,npupim_physical,neupims_physical\n");
  Rate most{1, 1};
  int place = 0;
  for (const char* dataset : datasets)
    for (const Model& model : models) {
      for (const int batch : batches) {
        const auto at = [&](const Machine& m) {
          return runs.at(m, model, model.tensor * model.pipeline, model.tensor, dataset, batch);
        };
        const Rate base = at(npu_only), pim = at(npu_pim), all = at(neupims);
        const double values[] = {pim.paper / base.paper, all.paper / base.paper, pim.physical / base.physical,
                                 all.physical / base.physical};
        most = {std::max({most.paper, values[0], values[1]}),
                std::max({most.physical, values[2], values[3]})};
        data.print("{},{:.4f},{:.4f},{:.4f},{:.4f}\n", place++, values[0], values[1], values[2], values[3]);
      }
      ++place;
    }
  data.close();
  draw(directory,
       {.name = "throughput",
        .height = 690,
        .settings = fmt::format("most_fitted = {:.4f}\nmost_physical = {:.4f}\n", most.paper, most.physical),
        .body = throughput});
}

void draw_techniques(ResultDirectory& directory, const DrawnRuns& runs) {
  OutputFile data(directory.file("figures/techniques.csv"));
  data.text("batch,drb,gmlbp,sbi,drb_physical,gmlbp_physical,sbi_physical\n");
  for (const int batch : batches) {
    const auto at = [&](const Machine& m) { return runs.at(m, models[0], 4, 4, "sharegpt", batch); };
    const Rate base = at(npu_pim), d = at(dual_buffers), b = at(balanced), i = at(interleaved);
    data.print("{},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f}\n", batch, d.paper / base.paper,
               b.paper / base.paper, i.paper / base.paper, d.physical / base.physical,
               b.physical / base.physical, i.physical / base.physical);
  }
  data.close();
  draw(directory, {.name = "techniques", .height = 480, .settings = "", .body = techniques});
}

void draw_layouts(ResultDirectory& directory, const DrawnRuns& runs) {
  OutputFile data(directory.file("figures/layouts.csv"));
  data.text("model,tp8_pp1,tp4_pp2,tp2_pp4\n");
  for (int i = 0; i < 3; ++i) {
    const auto at = [&](int tensor, int batch) {
      return runs.at(neupims, models[static_cast<std::size_t>(i)], 8, tensor, "sharegpt", batch).physical;
    };
    const double base = at(2, 64);
    data.print("{},{:.4f},{:.4f},{:.4f}\n", i, at(8, 256) / base, at(4, 128) / base, 1.0);
  }
  data.close();
  draw(directory, {.name = "layouts", .settings = "", .body = layouts_body});
}

// The bars of a model side by side, a gap between models.
void draw_transpim(ResultDirectory& directory) {
  const Table ratios = Table::read(directory.file("transpim.csv"));
  OutputFile data(directory.file("figures/transpim_bars.csv"));
  data.text("place,paper,physical\n");
  for (std::size_t i = 0; i < ratios.rows(); ++i)
    data.print("{},{:.4f},{:.4f}\n", i + i / batches.size(), ratios.number(i, "neupims_paper_over"),
               ratios.number(i, "neupims_physical_over"));
  data.close();
  draw(directory, {.name = "transpim", .settings = "", .body = transpim});
}

}  // namespace
}  // namespace neupims

void draw_neupims(ResultDirectory& directory, const std::vector<ReproducedRow>&) {
  if (!std::filesystem::exists(directory.file("runs.csv"))) return;  // --only left parts out
  const neupims::DrawnRuns runs(Table::read(directory.file("runs.csv")));
  neupims::draw_throughput(directory, runs);
  neupims::draw_techniques(directory, runs);
  neupims::draw_layouts(directory, runs);
  if (std::filesystem::exists(directory.file("transpim.csv"))) neupims::draw_transpim(directory);
  draw(directory, {.name = "algorithm1", .height = 560, .settings = "", .body = neupims::algorithm1});
}

}  // namespace weir
