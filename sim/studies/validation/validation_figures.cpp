// Figures of the validation study: tpot.svg, ttft.svg and throughput.svg (each server, measured against
// simulated) and kernels.svg (the error of each group of kernels).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/app/output/gnuplot.h"
#include "sim/app/output/output_file.h"
#include "sim/studies/validation/measured.h"
#include "sim/studies/validation/validation.h"

namespace weir {
namespace {

constexpr const char* pairs = R"gp(set logscale xy 10
set xrange [low:high]
set yrange [low:high]
set size ratio -1
set key top left reverse Left samplen 1
set samples 200
set style fill solid 1.0 noborder
)gp";

constexpr const char* kernels = R"gp(set xlabel "Mean |error| of kernel time (%)"
set xrange [0:*]
set yrange [kernels-0.5:-0.5]
set xtics 5
set ytics scale 0
set tmargin 3.6
set key at screen 0.02, screen 1-10.0/height left top horizontal maxrows 2 samplen 0.6 width -1
)gp";

// Okabe and Ito's colours, each with a shape of its own.
struct Look {
  int shape;  // gnuplot's point type
  const char* colour;
};
constexpr Look looks[] = {{6, "#0072B2"},  {8, "#D55E00"}, {4, "#009E73"}, {12, "#CC79A7"},
                          {10, "#E69F00"}, {1, "#56B4E9"}, {2, "#7a5230"}, {3, "#404040"}};

std::size_t place_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

// "h100_sxm", "trtllm" -> "H100, TensorRT-LLM"
std::string server_title(const std::string& device, const std::string& engine) {
  std::string name = device.substr(0, device.find('_'));
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name + ", " + (engine == "trtllm" ? "TensorRT-LLM" : engine == "sglang" ? "SGLang" : "vLLM");
}

// Measured against simulated figures of servers.
struct Pairs {
  const char *name, *column, *axis;
};
constexpr Pairs pairs_of_servers[] = {{"tpot", "tpot_ms", "TPOT (ms)"},
                                      {"ttft", "ttft_ms", "TTFT (ms)"},
                                      {"throughput", "output_throughput", "output tokens/s"}};

struct Points {
  double low = 1e300, high = 0;
  std::vector<std::string> kinds;
};

void add_points(const Table& servers, const Pairs& what, Points& points, OutputFile& data) {
  for (std::size_t i = 0; i < servers.rows(); ++i) {
    if (servers.text(i, fmt::format("simulated_{}", what.column)).empty()) continue;  // could not be played
    const double measured = servers.number(i, fmt::format("measured_{}", what.column)),
                 simulated = servers.number(i, fmt::format("simulated_{}", what.column));
    for (const double value : {measured, simulated}) {
      if (value <= 0) continue;  // failed
      points.low = std::min(points.low, value);
      points.high = std::max(points.high, value);
    }
    const std::string kind = server_title(servers.text(i, "device"), servers.text(i, "engine"));
    data.print("{},{},{}\n", place_of(points.kinds, kind), measured, simulated);
  }
}

// At 1, 2 and 5 of each power of ten, or, where these would run into one another, at the powers alone.
std::string ticks_between(double low, double high) {
  std::string ticks;
  for (double power = 1; power < high; power *= 10)
    for (const double step : {1.0, 2.0, 5.0})
      if (step == 1 || high < 200 * low)
        ticks += fmt::format("{}{:.0f}", ticks.empty() ? "" : ", ", step * power);
  return ticks;
}

Figure server_figure(ResultDirectory& directory, const Pairs& what) {
  OutputFile data(directory.file(fmt::format("figures/{}.csv", what.name)));
  data.print("kind,measured_{0},simulated_{0}\n", what.column);
  Points points;
  for (const char* file : {"servers.csv", "frontier.csv"})
    if (std::filesystem::exists(directory.file(file)))
      add_points(Table::read(directory.file(file)), what, points, data);
  data.close();
  if (points.high <= 0) points.low = 1, points.high = 100;  // every case failed; the rows say so
  std::string plot =
      "plot '+' using 1:($1*0.9):($1*1.1) with filledcurves lc rgb \"#e4e4e4\" title \"within 10 %\", \\\n"
      "     x with lines lw 1.5 lc rgb \"#404040\" notitle";
  for (std::size_t i = 0; i < points.kinds.size(); ++i) {
    const Look& look = looks[i % std::size(looks)];
    plot += fmt::format(
        ", \\\n     \"{}.csv\" using ($1 == {} ? $2 : NaN):3 skip 1 with points pt {} lc rgb \"{}\" lw 1.8 "
        "ps 0.8 title {}",
        what.name, i, look.shape, look.colour, gnuplot_text(points.kinds[i]));
  }
  return {
      .name = what.name,
      .height = 640,
      .settings = fmt::format("low = {}\nhigh = {}\n", points.low / 1.2, points.high * 1.2) +
                  fmt::format("set xlabel \"Measured {0}\"\nset ylabel \"Simulated {0}\"\n", what.axis) +
                  fmt::format("set xtics ({0})\nset ytics ({0})\n", ticks_between(points.low, points.high)),
      .body = pairs + plot + "\n"};
}

// One line a kernel, one mark a machine; a bar where the error is accepted up to.
Figure kernels_figure(ResultDirectory& directory) {
  const Table groups = Table::read(directory.file("kernels.csv"));
  OutputFile data(directory.file("figures/kernels.csv"));
  data.text("kernel,machine,error_percent,accept_max_percent\n");
  std::vector<std::string> kinds, machines;
  std::set<std::size_t> bounded;  // machines with an accepted error
  for (std::size_t i = 0; i < groups.rows(); ++i) {
    if (groups.text(i, "kernel").empty()) continue;
    const std::size_t machine = place_of(machines, groups.text(i, "machine"));
    const std::string& accepted = groups.text(i, "accept_max_percent");
    if (!accepted.empty()) bounded.insert(machine);
    data.print("{},{},{},{}\n", place_of(kinds, groups.text(i, "kernel")), machine,
               groups.text(i, "error_percent"), accepted);
  }
  data.close();
  std::string labels, plot;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    labels += fmt::format("{}{} {}", i ? ", " : "", gnuplot_tic(kinds[i]), i);
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const Look& look = looks[i % std::size(looks)];
    plot += fmt::format(
        "{} \"kernels.csv\" using ($2 == {} ? $3 : NaN):1 skip 1 with points pt {} lc rgb \"{}\" lw 2.2 ps "
        "1.1 "
        "title {}",
        i ? ", \\\n    " : "plot", i, look.shape, look.colour, gnuplot_text(machines[i]));
    if (bounded.contains(i))
      plot += fmt::format(
          ", \\\n     \"\" using ($2 == {} ? $4 : NaN):1 skip 1 with points pt \"|\" lc rgb \"{}\" font "
          "\",26\" "
          "notitle",
          i, look.colour);
  }
  if (!bounded.empty())
    plot += ", \\\n     keyentry with points pt \"|\" lc rgb \"#404040\" font \",26\" title \"accepted\"";
  return {.name = "kernels",
          .height = 180 + 32 * static_cast<int>(kinds.size()),
          .settings = fmt::format("kernels = {}\nset ytics ({})\n", kinds.size(), labels),
          .body = kernels + plot + "\n"};
}

}  // namespace

void draw_validation(ResultDirectory& directory, const std::vector<ReproducedRow>&) {
  const auto there = [&](const char* file) { return std::filesystem::exists(directory.file(file)); };
  if (there("servers.csv"))
    for (const Pairs& what : pairs_of_servers) draw(directory, server_figure(directory, what));
  if (there("kernels.csv")) draw(directory, kernels_figure(directory));
}

}  // namespace weir
