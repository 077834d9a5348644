// Batch size and KV cache over time, of a run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/app/output/output_file.h"
#include "sim/app/plot/canvas.h"
#include "sim/app/plot/kinds.h"
#include "sim/app/results/csv.h"

namespace weir {
namespace {

constexpr std::size_t most_rows = 1000;  // more than the figure has pixels; several samples are averaged

struct Series {
  std::vector<double> time, running, waiting, used;  // used in % of all blocks
};

Series read_series(const PlotRequest& request) {
  const auto columns = read_columns(request.results.directory / "timeseries.csv",
                                    {"time_s", "running", "waiting", "kv_blocks_used"});
  const double blocks = request.results.points[0].summary["kv_cache"].value("blocks", 0.0);
  const std::size_t rows = columns[0].size(), per = rows / most_rows + 1;
  Series s;
  for (std::size_t from = 0; from < rows; from += per) {
    const auto to = std::min(rows, from + per);
    const auto mean = [&](const std::vector<double>& values) {
      double sum = 0;
      for (std::size_t i = from; i < to; ++i) sum += values[i];
      return sum / static_cast<double>(to - from);
    };
    s.time.push_back(columns[0][to - 1]);
    s.running.push_back(mean(columns[1]));
    s.waiting.push_back(mean(columns[2]));
    s.used.push_back(blocks > 0 ? 100 * mean(columns[3]) / blocks : 0);
  }
  return s;
}

ChartAxis time_axis(const std::vector<double>& time) {
  ChartAxis axis = axis_over(time, From::zero, false);
  axis.high = std::max(time.back(), 1e-9);
  std::erase_if(axis.tics, [&](double tic) { return tic > axis.high; });
  return axis;
}

}  // namespace

std::string why_no_occupancy(const PlotRequest& request) {
  if (request.results.sweep) return "a sweep keeps no time series of its points; weir run one of them";
  if (!std::filesystem::exists(request.results.directory / "timeseries.csv"))
    return "there is no timeseries.csv";
  return read_columns(request.results.directory / "timeseries.csv", {"time_s"})[0].empty()
             ? "timeseries.csv has no samples"
             : "";
}

Figure occupancy(const PlotRequest& request) {
  const Series s = read_series(request);
  OutputFile data(request.folder / "figures" / "occupancy.csv");
  data.text("time_s,running,waiting,kv_blocks_percent\n");
  for (std::size_t i = 0; i < s.time.size(); ++i)
    data.print("{},{},{},{}\n", s.time[i], s.running[i], s.waiting[i], s.used[i]);
  data.close();

  std::vector<double> requests = s.running;
  requests.insert(requests.end(), s.waiting.begin(), s.waiting.end());
  const ChartAxis x = time_axis(s.time), counts = axis_over(requests, From::zero, false),
                  used = axis_over(s.used, From::zero, false);
  const Legend legend =
      legend_of({{"running", look(0).colour, 0, "1"}, {"waiting", look(1).colour, 0, look(1).dash}});
  const int height = legend.height + 12 + 210 + 22 + 210 + 84;
  const double left = std::max(left_margin(counts), left_margin(used)), top = legend.height + 12;
  const Frame above{left, canvas_width - 26, top, top + 210, height},
      below{left, canvas_width - 26, top + 232, top + 442, height};
  std::string body =
      "set multiplot\n" + legend.settings(height) + above.axes(x, counts, false) + above.y_title("Requests");
  body += fmt::format(
      "plot 'occupancy.csv' using 1:2 skip 1 with lines lw 2 lc rgb '{}' notitle, \\\n"
      "     '' using 1:3 skip 1 with lines lw 2 dt {} lc rgb '{}' notitle\nunset label\nunset arrow\n",
      look(0).colour, look(1).dash, look(1).colour);
  body += below.axes(x, used) + below.x_title("Time (s)") + below.y_title("KV blocks used (%)");
  body += fmt::format(
      "set style fill solid 0.25 noborder\n"
      "plot 'occupancy.csv' using 1:4 skip 1 with filledcurves y1=0 lc rgb '{0}' notitle, \\\n"
      "     '' using 1:4 skip 1 with lines lw 2 lc rgb '{0}' notitle\nunset multiplot\n",
      look(0).colour);
  return {.name = "occupancy", .height = height, .settings = "", .body = body};
}

}  // namespace weir
