#include "sim/app/output/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/app/output/gnuplot.h"
#include "sim/app/output/output_file.h"
#include "sim/app/output/prompts/prompt_sources.h"

namespace weir {
namespace {

constexpr const char* latency = R"gp(set xlabel "Latency (ms)"
set ylabel "Share of requests"
set logscale x 10
set format x "10^{%L}"
set xrange [low:high]
set yrange [0:1]
set ytics 0.25
set mxtics 10
set tmargin 1.8
set key at graph 1.0, screen 1-14.0/height right horizontal maxrows 1 width -3
plot "latency.csv" using 2:1 skip 1 with lines ls 1 title "TTFT", \
     "" using 3:1 skip 1 with lines ls 2 title "TPOT", \
     "" using 4:1 skip 1 with lines ls 3 title "End to end"
)gp";

constexpr const char* throughput = R"gp(series = "../timeseries.csv"
stats series using 5 skip 1 nooutput name "tokens"
stats series using ($2 > $3 ? $2 : $3) skip 1 nooutput name "requests"
k = thousands(tokens_max)
n = thousands(requests_max)
set multiplot
set lmargin at screen 0.18
set rmargin at screen 0.97
set xrange [0:duration]
set xtics step_of(duration, 6)
set yrange [0:*]
set tmargin at screen 0.965
set bmargin at screen 0.61
set format x ""
set ytics step_of(tokens_max / k, 4)
set ylabel k == 1 ? "Output tokens/s" : "Output tokens/s (10^3)"
plot series using 1:($5/k) skip 1 with lines ls 1 lw 2.5 notitle
set tmargin at screen 0.51
set bmargin at screen 0.155
set format x "%g"
set ytics step_of(requests_max / n, 4)
set xlabel "Time (s)"
set ylabel n == 1 ? "Requests" : "Requests (10^3)"
set key at graph 1.0,1.17 right horizontal
plot series using 1:($2/n) skip 1 with lines ls 1 lw 2.5 title "running", \
     "" using 1:($3/n) skip 1 with lines ls 2 lw 2.5 title "waiting"
unset multiplot
)gp";

constexpr const char* utilisation = R"gp(set xlabel "Share of the run (%)"
set xrange [0:100]
set yrange [units-0.4:-0.6]
set grid noytics
set tmargin 1.8
set key at graph 1.0, screen 1-14.0/height right horizontal maxrows 1 samplen 0.8 width -1
set style fill solid 1.0 noborder
h = 0.36
plot "utilisation.csv" using (0):0:(0):3:($0-h):($0+h) skip 1 \
       with boxxyerror lc rgb "#0072B2" title "compute", \
     "" using 3:0:3:($3+$4):($0-h):($0+h) skip 1 with boxxyerror lc rgb "#E69F00" title "memory", \
     "" using ($3+$4):0:($3+$4):($3+$4+$5):($0-h):($0+h) skip 1 with boxxyerror lc rgb "#009E73" title "links", \
     "" using ($3+$4+$5):0:($3+$4+$5):($3+$4+$5+$6):($0-h):($0+h) skip 1 with boxxyerror lc rgb "#CC79A7" title "host"
)gp";

constexpr const char* kv_cache = R"gp(series = "../timeseries.csv"
stats series using (100*$4/blocks) skip 1 nooutput name "used"
set xlabel "Time (s)"
set ylabel "KV blocks used (%)"
set xrange [0:duration]
set xtics step_of(duration, 6)
set yrange [0:*]
set ytics step_of(used_max, 5)
set style fill solid 0.25 noborder
plot series using 1:(100*$4/blocks) skip 1 with filledcurves y1=0 lc rgb "#0072B2" notitle, \
     "" using 1:(100*$4/blocks) skip 1 with lines ls 1 lw 2.5 notitle
)gp";

std::vector<double> sorted(const RunResult& result, std::optional<Seconds> (*value)(const RequestRecord&)) {
  std::vector<double> values;
  for (const RequestRecord& record : result.requests)
    if (is_measured(record) && record.status == RequestStatus::completed)
      if (const auto time = value(record)) values.push_back(time->value() * 1e3);
  std::sort(values.begin(), values.end());
  return values;
}

// Quantiles, because a million points in an SVG help nobody.
Figure latency_figure(ResultDirectory& directory, const RunResult& result) {
  const std::vector<double> columns[] = {
      sorted(result, [](const RequestRecord& r) { return std::optional(time_to_first_token(r)); }),
      sorted(result, time_per_output_token),
      sorted(result, [](const RequestRecord& r) { return std::optional(end_to_end(r)); })};
  double low = 1e300, high = 0;
  for (const auto& column : columns) {
    if (column.empty()) continue;
    low = std::min(low, std::max(column.front(), 1e-3));
    high = std::max(high, column.back());
  }
  if (high <= low) low = high = std::max(high, 1e-3);
  OutputFile data(directory.file("figures/latency.csv"));
  data.text("share,ttft_ms,tpot_ms,e2el_ms\n");
  constexpr int points = 500;
  for (int i = 0; i <= points; ++i) {
    data.print("{}", i / double{points});
    for (const auto& column : columns) {
      const auto at =
          static_cast<std::size_t>(std::llround(i / double{points} * static_cast<double>(column.size() - 1)));
      column.empty() ? data.text(",") : data.print(",{}", column[at]);
    }
    data.line_done();
  }
  data.close();
  return {.name = "latency",
          .settings = fmt::format("low = {}\nhigh = {}\n", low / 1.5, high * 1.5),
          .body = latency};
}

Figure utilisation_figure(ResultDirectory& directory, const RunResult& result, Seconds duration) {
  OutputFile data(directory.file("figures/utilisation.csv"));
  data.text("unit,name,compute,memory,links,host\n");
  const double percent = duration.value() > 0 ? 100 / duration.value() : 0;
  for (std::size_t i = 0; i < result.devices.size(); ++i) {
    const DeviceUsage& u = result.devices[i];
    data.print("{},{},{},{},{},{}\n", i, csv_text(u.name), u.compute_bound.value() * percent,
               u.memory_bound.value() * percent, u.link_bound.value() * percent,
               u.host_bound.value() * percent);
  }
  data.close();
  const int units = static_cast<int>(result.devices.size());
  constexpr int most_bars = 24, bar = 34;  // beyond, bars grow thinner and only every so many is named
  const int shown = std::min(units, most_bars), step = (units + most_bars - 1) / most_bars;
  std::string names;
  for (int i = 0; i < units; i += step)
    names += fmt::format("{}{} {}", i == 0 ? "" : ", ",
                         gnuplot_tic(result.devices[static_cast<std::size_t>(i)].name), i);
  return {.name = "utilisation",
          .height = 140 + bar * shown,
          .settings = fmt::format("units = {}\nset ytics ({})\n", units, names),
          .body = utilisation};
}

}  // namespace

void draw_figures(ResultDirectory& directory, const FinishedRun& run) {
  if (run.metrics.completed == 0) return;  // nothing to draw; gnuplot fails on empty data
  const std::string duration = fmt::format("duration = {}\n", run.result.end.value());
  draw(directory, latency_figure(directory, run.result));
  draw(directory, {.name = "throughput", .height = 520, .settings = duration, .body = throughput});
  draw(directory, utilisation_figure(directory, run.result, run.metrics.duration));
  double blocks = 0;
  for (const ReplicaPlan& replica : run.plan.replicas)
    blocks += static_cast<double>(replica.spec.count) * replica.spec.parallelism.attention_data *
              static_cast<double>(replica.kv_blocks);
  draw(directory,
       {.name = "kv_cache", .settings = duration + fmt::format("blocks = {}.0\n", blocks), .body = kv_cache});
  if (prompts_find(run)) draw_prompts(directory, run.result);
}

}  // namespace weir
