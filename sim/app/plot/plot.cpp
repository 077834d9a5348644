// weir plot: figures of a run or a sweep.
#include "sim/app/plot/plot.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <system_error>

#include "sim/app/command_line.h"
#include "sim/app/interruption.h"
#include "sim/app/output/output_file.h"
#include "sim/app/output/result_directory.h"
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

// Gone again if nothing came into it.
class NewFolder {
 public:
  explicit NewFolder(const fs::path& path) : path_(path), made_(fs::create_directories(path)) {}
  ~NewFolder() {
    if (made_) ::rmdir(path_.c_str());
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

 private:
  fs::path path_;
  bool made_;
};

// A figure of before is known by its script; a file of its name without one is somebody's own.
void check_is_figure(const fs::path& place, const fs::path& script) {
  const fs::file_type there = fs::symlink_status(place).type();
  if (there == fs::file_type::not_found) return;
  const bool ours = fs::symlink_status(script).type() == fs::file_type::regular && is_figure_script(script);
  if (there != fs::file_type::regular || !ours)
    throw ConfigError("--out " + place.string(), "",
                      "is no figure of weir plot, and would be replaced; choose another directory");
}

// Where figures go, beside whatever else is there: each file is moved in place whole.
void move_figures(const fs::path& from, const fs::path& out) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(from))
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), from));
  if (fs::is_symlink(out / "figures"))
    throw ConfigError("--out " + (out / "figures").string(), "", "is a link; choose another directory");
  fs::create_directories(out / "figures");
  for (const fs::path& file : files)
    check_is_figure(out / file, out / "figures" / (file.stem().string() + ".gp"));
  for (const fs::path& file : files) fs::rename(from / file, out / file);
}

// The names of those that were drawn, all of them or none.
std::vector<std::string> draw_kinds(PlotRequest& request, const PlotArguments& a, const fs::path& out,
                                    const PlaceLock& lock) {
  constexpr const char* prefix = ".plot.partial";
  const NewFolder folder(out);
  if (lock.held()) remove_leftovers(out, prefix);
  const Staging staging(out, prefix);
  fs::create_directories(staging.path() / "figures");
  request.folder = staging.path();
  std::vector<std::string> drawn;
  for (const PlotKind& kind : plot_kinds()) {
    if (!a.kind.empty() && kind.name != a.kind) continue;
    const std::string why = kind.why_not(request);
    if (!why.empty() && !a.kind.empty())
      throw ConfigError(a.directory, "", "cannot be drawn as " + kind.name + ": " + why);
    if (!why.empty()) continue;
    Figure figure = kind.figure(request);
    figure.settings += "unset key\n";
    draw(staging.path(), figure, a.format);
    drawn.push_back(figure.name + "." + a.format);
  }
  Interruption::check();
  if (!drawn.empty()) move_figures(staging.path(), out);
  return drawn;
}

void make_folders_above(const fs::path& out) {
  std::error_code why;
  if (out.has_parent_path()) fs::create_directories(out.parent_path(), why);
  if (why) cannot_write("--out " + out.string(), why);
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
  require_results(a.directory);
  const fs::path out = a.out.empty() ? fs::path(a.directory) / "plots" : fs::path(a.out);
  const Interruption interruption;
  make_folders_above(out);
  const auto lock = lock_drawings(out, "--out " + out.string());
  const ResultSet results = read_results(a.directory);
  if (const std::string missing = what_is_missing(results); !missing.empty())
    fmt::print(stderr, "note: {}\n", missing);
  PlotRequest request{results, repetitions(results), {}, a.x, a.y, a.metric};
  for (const std::string& condition : a.where) keep(request.points, condition);
  if (a.kind != "heatmap") check_metric(results, "--x", a.x), check_metric(results, "--y", a.y);
  check_metric(results, "--metric", a.metric);
  require_gnuplot();
  std::vector<std::string> drawn;
  try {
    drawn = draw_kinds(request, a, out, *lock);
  } catch (const std::system_error& e) {
    cannot_write("--out " + out.string(), e.code());
  }
  for (const std::string& name : drawn) fmt::print("{}\n", (out / name).string());
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
