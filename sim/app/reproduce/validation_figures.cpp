// Figures of the validation study: tpot.svg (each server, measured against simulated) and kernels.svg (the
// error of each group of kernels).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/app/output/gnuplot.h"
#include "sim/app/reproduce/measured.h"
#include "sim/app/reproduce/validation.h"

namespace weir {
namespace {

constexpr const char* tpot = R"gp(servers = "../servers.csv"
set xlabel "Measured TPOT (ms)"
set ylabel "Simulated TPOT (ms)"
set logscale xy 10
set xrange [low:high]
set yrange [low:high]
set xtics (1, 2, 5, 10, 20, 50, 100, 200, 500)
set ytics (1, 2, 5, 10, 20, 50, 100, 200, 500)
set size ratio -1
set key top left reverse Left samplen 1
set samples 200
set style fill solid 1.0 noborder
)gp";

constexpr const char* kernels = R"gp(set xlabel "Mean |error| of kernel time (%)"
set xrange [0:*]
set yrange [groups-0.4:-0.6]
set grid noytics
set ytics scale 0
set tmargin 1.8
set key at graph 1.0, screen 1-14.0/height right horizontal maxrows 1 samplen 1.2
set style fill solid 1.0 noborder
h = 0.34
plot "../kernels.csv" using (0):0:(0):4:($0-h):($0+h):ytic(strcol(2)) skip 1 \
       with boxxyerror lc rgb "#0072B2" title "simulated", \
     "" using 6:0:6:6:($0-0.48):($0+0.48) skip 1 with boxxyerror fs empty border lc rgb "#D55E00" lw 3 \
       title "accepted up to"
)gp";

// "h100_sxm", "trtllm" -> "H100, TensorRT-LLM"
std::string server_title(const std::string& device, const std::string& engine) {
  std::string name = device.substr(0, device.find('_'));
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name + ", " + (engine == "trtllm" ? "TensorRT-LLM" : "vLLM");
}

Figure tpot_figure(const Table& servers) {
  double low = 1e300, high = 0;
  std::vector<std::pair<std::string, std::string>> kinds;
  for (std::size_t i = 0; i < servers.rows(); ++i) {
    for (const char* column : {"measured_tpot_ms", "simulated_tpot_ms"}) {
      const double value = servers.number(i, column);
      if (value <= 0) continue;  // failed
      low = std::min(low, value);
      high = std::max(high, value);
    }
    const std::pair kind{servers.text(i, "device"), servers.text(i, "engine")};
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  // Okabe and Ito's colours, each with a shape of its own: circle, triangle, square, diamond.
  constexpr const char* looks[] = {"pt 6 lc rgb \"#0072B2\"", "pt 8 lc rgb \"#D55E00\"",
                                   "pt 4 lc rgb \"#009E73\"", "pt 12 lc rgb \"#CC79A7\""};
  std::string plot =
      "plot '+' using 1:($1*0.9):($1*1.1) with filledcurves lc rgb \"#e4e4e4\" title \"within 10 %\", \\\n"
      "     x with lines lw 1.5 lc rgb \"#404040\" notitle";
  for (std::size_t i = 0; i < kinds.size(); ++i)
    plot += fmt::format(
        ", \\\n     servers using (strcol(1) eq \"{}\" && strcol(2) eq \"{}\" ? $11 : NaN):12 skip 1 "
        "with points {} lw 1.8 ps 0.9 title \"{}\"",
        kinds[i].first, kinds[i].second, looks[i % std::size(looks)],
        server_title(kinds[i].first, kinds[i].second));
  return {.name = "tpot",
          .height = 640,
          .settings = fmt::format("low = {}\nhigh = {}\n", low / 1.2, high * 1.2),
          .body = tpot + plot + "\n"};
}

}  // namespace

void draw_validation(ResultDirectory& directory, const std::vector<ReproducedRow>&) {
  const Table servers = Table::read(directory.file("servers.csv"));
  draw(directory, tpot_figure(servers));
  const int groups = static_cast<int>(Table::read(directory.file("kernels.csv")).rows());
  draw(directory, {.name = "kernels",
                   .height = 140 + 30 * groups,
                   .settings = fmt::format("groups = {}\n", groups),
                   .body = kernels});
}

}  // namespace weir
