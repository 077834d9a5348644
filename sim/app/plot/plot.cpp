// weir plot: figures of a run or a sweep.
#include "sim/app/plot/plot.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <system_error>

#include "sim/app/command_line.h"
#include "sim/app/plot/kinds.h"
#include "sim/app/results/labels.h"
#include "sim/app/results/metric.h"
#include "sim/core/catalog.h"
#include "sim/core/errors.h"

namespace weir {
namespace fs = std::filesystem;

const std::vector<PlotKind>& plot_kinds() {
  static const std::vector<PlotKind> table = {
      {"throughput_latency", "throughput against latency, a line per configuration",
       why_no_throughput_latency, throughput_latency},
      {"pareto", "the points that no other beats, with their names", why_no_pareto, pareto},
      {"heatmap", "a metric over two varied keys", why_no_heatmap, heatmap},
      {"cdf", "how TTFT and TPOT are distributed", why_no_cdf, cdf},
      {"breakdown", "where time and energy go", why_no_breakdown, breakdown},
      {"occupancy", "batch size and KV cache over time, of a run", why_no_occupancy, occupancy},
  };
  return table;
}

namespace {

struct PlotArguments {
  std::string directory, kind, x, y, metric, format = "svg", out;
  std::vector<std::string> where;
};

// What is drawn, made aside and moved in place whole, so that an interrupted one leaves the earlier figure.
class Staging {
 public:
  explicit Staging(const fs::path& out) : out_(out) {
    std::string name = (out / ".plot.partial-XXXXXX").string();
    std::error_code error;
    fs::create_directories(out, error);
    if (error || !::mkdtemp(name.data()))
      throw ConfigError("--out " + out.string(), "",
                        "cannot be written: " +
                            (error ? error : std::error_code(errno, std::generic_category())).message());
    folder_ = name;
    fs::create_directories(folder_ / "figures");
  }
  ~Staging() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  const fs::path& folder() const { return folder_; }
  void commit() {
    fs::create_directories(out_ / "figures");
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.is_regular_file()) fs::rename(entry.path(), out_ / fs::relative(entry.path(), folder_));
  }

 private:
  fs::path out_, folder_;
};

// --where POINTER=JSON: keeps the points whose value it is. The pointer may be its last part.
void keep(std::vector<Repeated>& points, const std::string& condition) {
  const auto sign = condition.find('=');
  if (sign == std::string::npos) throw ConfigError("--where " + condition, "", "expected KEY=VALUE");
  const std::string key = condition.substr(0, sign), wanted = condition.substr(sign + 1);
  std::vector<std::string> known, values;
  std::vector<Repeated> kept;
  for (const Repeated& r : points)
    for (const auto& [pointer, value] : r.varied) {
      if (std::find(known.begin(), known.end(), short_name(pointer)) == known.end())
        known.push_back(short_name(pointer));
      if (pointer != key && short_name(pointer) != key) continue;
      if (std::find(values.begin(), values.end(), value_text(value)) == values.end())
        values.push_back(value_text(value));
      if (value_text(value) == wanted || value.dump() == wanted) kept.push_back(r);
    }
  if (values.empty()) throw ConfigError("--where " + condition, "", no_such("varied key", key, known));
  if (kept.empty()) throw ConfigError("--where " + condition, "", no_such("value", wanted, values));
  points = std::move(kept);
}

void check_metric(const ResultSet& results, const std::string& option, const std::string& name) {
  const std::vector<std::string> known = metric_names(results);
  if (!name.empty() && !known.empty() && std::find(known.begin(), known.end(), name) == known.end())
    throw ConfigError(option + " " + name, "", no_such("metric", name, known));
}

void draw_kind(const PlotKind& kind, PlotRequest& request, const PlotArguments& a, const fs::path& out) {
  Staging staging(out);
  request.folder = staging.folder();
  Figure figure = kind.figure(request);
  figure.settings += "unset key\n";
  draw(staging.folder(), figure, a.format);
  staging.commit();
  fmt::print("{}\n", (out / (figure.name + "." + a.format)).string());
}

int plot(const PlotArguments& a) {
  std::vector<std::string> formats = {"svg", "pdf", "png"};
  if (std::find(formats.begin(), formats.end(), a.format) == formats.end())
    throw ConfigError("--format", "", no_such("format", a.format, formats));
  const auto& kinds = plot_kinds();
  if (!a.kind.empty() &&
      std::none_of(kinds.begin(), kinds.end(), [&](const PlotKind& k) { return k.name == a.kind; }))
    throw ConfigError("--kind", "", no_such("kind", a.kind, names_of(kinds)));
  if (a.kind.empty() && (!a.x.empty() || !a.y.empty()))
    throw ConfigError("weir plot", "", "--x and --y need a --kind");
  const ResultSet results = read_results(a.directory);
  if (const std::string missing = what_is_missing(results); !missing.empty())
    fmt::print(stderr, "note: {}\n", missing);
  PlotRequest request{results, repetitions(results), {}, a.x, a.y, a.metric};
  for (const std::string& condition : a.where) keep(request.points, condition);
  if (a.kind != "heatmap") check_metric(results, "--x", a.x), check_metric(results, "--y", a.y);
  check_metric(results, "--metric", a.metric);
  require_gnuplot();
  const fs::path out = a.out.empty() ? fs::path(a.directory) / "plots" : fs::path(a.out);
  for (const PlotKind& kind : kinds) {
    if (!a.kind.empty() && kind.name != a.kind) continue;
    const std::string why = kind.why_not(request);
    if (why.empty()) {
      draw_kind(kind, request, a, out);
    } else if (!a.kind.empty()) {
      throw ConfigError(a.directory, "", "cannot be drawn as " + kind.name + ": " + why);
    }
  }
  return exit_done;
}

}  // namespace

std::vector<std::string> plot_values(const std::string& argument, const std::vector<std::string>&) {
  return argument == "kind" ? names_of(plot_kinds()) : std::vector<std::string>();
}

std::function<int()> declare_plot(CLI::App& app) {
  const auto a = std::make_shared<PlotArguments>();
  std::string known;
  for (const PlotKind& kind : plot_kinds()) known += fmt::format("\n{}: {}", kind.name, kind.summary);
  app.add_option("DIR", a->directory, "results of weir run or weir sweep")->required();
  app.add_option("--kind", a->kind, "one figure instead of all that make sense:" + known)->type_name("KIND");
  app.add_option("--x", a->x, "metric (of a heat map: varied key) across")->type_name("NAME");
  app.add_option("--y", a->y, "metric (of a heat map: varied key) upwards")->type_name("NAME");
  app.add_option("--metric", a->metric, "metric of a heat map's cells (default: output_throughput)")
      ->type_name("NAME");
  app.add_option("--where", a->where, "only the points with this value: rate_per_s=8 (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--format", a->format, "svg, pdf or png")->capture_default_str()->type_name("svg|pdf|png");
  app.add_option("--out", a->out,
                 "directory for the figures (default: DIR/plots); script and data go to its figures/")
      ->type_name("DIR");
  return [a] { return plot(*a); };
}

}  // namespace weir
