// Figures of training jobs: what the time of a step goes into, how busy units are, and how long each step
// takes where steps differ.
#include <fmt/format.h>

#include <algorithm>

#include "sim/app/output/gnuplot.h"
#include "sim/app/output/metrics.h"
#include "sim/app/output/output_file.h"
#include "sim/app/output/text_grid.h"
#include "sim/app/output/training/training_writers.h"

namespace weir {
namespace {

// The legend is a plot of its own, as wide as the figure: one beside long names would be cut in rows.
constexpr const char* split_body = R"gp(set xlabel "Share of a step (%)"
set xrange [0:100]
set yrange [bars-0.4:-0.6]
set grid noytics
set tmargin 1.8
unset key
set style fill solid 1.0 noborder
h = 0.36
set multiplot
plot data using (0):0:(0):3:($0-h):($0+h) skip 1 with boxxyerror lc rgb "#0072B2", \
     "" using 3:0:3:($3+$4):($0-h):($0+h) skip 1 with boxxyerror lc rgb "#E69F00", \
     "" using ($3+$4):0:($3+$4):($3+$4+$5):($0-h):($0+h) skip 1 with boxxyerror lc rgb "#009E73"
set lmargin at screen 0
set rmargin at screen 1
unset border
unset tics
unset xlabel
unset grid
set key at screen 0.97, screen 1-14.0/height right horizontal maxrows 1 samplen 0.8 width -4
plot [0:1][0:1] NaN notitle, \
     keyentry with boxes lc rgb "#0072B2" title "operation", \
     keyentry with boxes lc rgb "#E69F00" title "data movement", \
     keyentry with boxes lc rgb "#009E73" title "synchronisation"
unset multiplot
)gp";

constexpr const char* units_body = R"gp(set xlabel "Busy share of the run (%)"
set xrange [0:100]
set yrange [bars-0.4:-0.6]
set grid noytics
set tmargin 0.6
set style fill solid 1.0 noborder
h = 0.36
plot data using (0):0:(0):3:($0-h):($0+h) skip 1 with boxxyerror lc rgb "#0072B2" notitle
)gp";

constexpr const char* steps_body = R"gp(set xlabel "Step"
set ylabel "Time of the step (ms)"
set xrange [-0.5:steps-0.5]
set xtics step_of(steps, 6)
set tmargin 1.8
set key at graph 1.0, screen 1-14.0/height right horizontal maxrows 1 width -3
)gp";

// Beside those of requests, which have a utilisation too, names tell whose they are.
std::string figure_name(const FinishedTraining& training, const std::string& name) {
  return (training.alone ? "training_" : "") + name;
}

std::string name_of(const FinishedTraining& training, std::size_t job) {
  constexpr std::size_t most = 24;
  return shortened(training.plan.training[job].spec.name, most);
}

// Bars from above to below, each with its name; many of them are thinner, and every so many is named.
Figure bars(const std::string& name, const std::vector<std::string>& names, const char* body) {
  constexpr int most_bars = 24, bar = 34;
  const int count = static_cast<int>(names.size()), step = (count + most_bars - 1) / most_bars;
  std::string tics;
  for (int i = 0; i < count; i += step)
    tics += fmt::format("{}{} {}", i == 0 ? "" : ", ", gnuplot_tic(names[static_cast<std::size_t>(i)]), i);
  return {.name = name,
          .height = 140 + bar * std::min(count, most_bars),
          .settings = fmt::format("data = \"{}.csv\"\nbars = {}\nset ytics ({})\n", name, count, tics),
          .body = body};
}

void draw_split(ResultDirectory& directory, const FinishedTraining& training) {
  const std::string figure = figure_name(training, "time_split");
  OutputFile data(directory.file("figures/" + figure + ".csv"));
  data.text("job,name,operation_percent,movement_percent,synchronisation_percent\n");
  std::vector<std::string> names;
  for (std::size_t j = 0; j < training.jobs.size(); ++j) {
    const std::optional<TimeSplit>& split = training.jobs[j].split;
    if (!split) continue;
    const Seconds all = split->operation + split->movement + split->synchronisation;
    names.push_back(fmt::format("{} ({} ms)", name_of(training, j), shown_number(1e3 * all.value(), 3)));
    data.print("{},{},{},{},{}\n", j, csv_text(names.back()), 100 * (split->operation / all),
               100 * (split->movement / all), 100 * (split->synchronisation / all));
  }
  data.close();
  if (!names.empty()) draw(directory, bars(figure, names, split_body));
}

void draw_units(ResultDirectory& directory, const FinishedTraining& training) {
  const std::string figure = figure_name(training, "utilisation");
  OutputFile data(directory.file("figures/" + figure + ".csv"));
  data.text("job,unit,busy_percent\n");
  std::vector<std::string> names;
  for (std::size_t j = 0; j < training.jobs.size(); ++j)
    for (const BusyUnit& unit : busy_units(training.jobs[j])) {
      names.push_back(training.jobs.size() == 1 ? unit.name : name_of(training, j) + ": " + unit.name);
      data.print("{},{},{}\n", j, csv_text(names.back()), 100 * unit.utilisation);
    }
  data.close();
  draw(directory, bars(figure, names, units_body));
}

// Logarithmic where jobs are of other orders of magnitude; nothing where no job's steps differ.
void draw_steps(ResultDirectory& directory, const FinishedTraining& training) {
  constexpr double alike = 1e-6, far = 20;
  double low = 1e300, high = 0;
  std::size_t most = 0;
  bool varies = false;
  std::string plot;
  for (std::size_t j = 0; j < training.jobs.size(); ++j) {
    const std::vector<double> times = step_times_ms(training.jobs[j].run);
    const auto [least, longest] = std::ranges::minmax(times);
    varies |= longest > (1 + alike) * least;
    low = std::min(low, least), high = std::max(high, longest);
    most = std::max(most, times.size());
    plot += fmt::format("{} using ($1=={}?$2:NaN):5 skip 1 with linespoints ls {} pt 7 ps 0.4 title {}",
                        j == 0 ? "plot \"../training_steps.csv\"" : ", \"\"", j, j % 7 + 1,
                        gnuplot_text(name_of(training, j)));
  }
  if (!varies) return;
  const std::string axis = high > far * low
                               ? fmt::format("set logscale y\nset yrange [{}:{}]\n", low / 1.5, 1.5 * high)
                               : "set yrange [0:*]\n";
  draw(directory, {.name = figure_name(training, "step_time"),
                   .settings = fmt::format("steps = {}\n", most),
                   .body = steps_body + axis + plot + "\n"});
}

}  // namespace

void draw_training_figures(ResultDirectory& directory, const FinishedTraining& training) {
  draw_split(directory, training);
  draw_units(directory, training);
  draw_steps(directory, training);
}

}  // namespace weir
