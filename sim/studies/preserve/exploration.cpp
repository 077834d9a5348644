// Figures 6 and 7: the size of the L2, of 32 accelerators of Table 2. The latency is that of decoding the
// last third of a length, the mean over the workloads: longer ones weigh more.
#include <algorithm>
#include <map>

#include "sim/app/output/output_file.h"
#include "sim/core/units.h"
#include "sim/studies/preserve/study.h"
#include "sim/studies/validation/kernels.h"

namespace weir::preserve {
namespace {

constexpr int smallest_mb = 8, largest_mb = 160, step_mb = 8;
const int dies = Run().devices;
constexpr int batches[] = {8, 16, 24, 32};
constexpr std::int64_t lengths[] = {2048, 4096, 8192, 16384};
double die_mm2(double l2_mb) {
  return catalog_device("l2_npu", {{"l2_mb", l2_mb}})->spec().notes.die_mm2.value();
}

std::vector<int> sizes() {
  std::vector<int> all;
  for (int mb = smallest_mb; mb <= largest_mb; mb += step_mb) all.push_back(mb);
  return all;
}

Run point(const std::string& model, int batch, std::int64_t length, double l2_mb) {
  return {.model = model, .batch = batch, .length = length, .l2_mb = l2_mb};
}

Run without_prefetching(Run run) {  // whatever the size of the L2
  run.l2_mb = smallest_mb;
  run.prefetch = "none";
  return run;
}

template <class Action>
void each_workload(const Action& action) {
  for (const int batch : batches)
    for (const std::int64_t length : lengths) action(batch, length);
}

struct Curves {                                           // of one assumption set
  std::map<std::string, double> none;                     // mean latency over the workloads, ms, by model
  std::map<std::string, std::vector<double>> prefetched;  // and by size
  std::map<std::string, std::vector<double>> steps;       // mean step instead, every workload alike
  std::vector<double> density, density_none;              // tokens/s/mm2, by size

  static double reduction(const std::vector<double>& ms) {  // best over smallest, %
    return 100 * (1 - std::ranges::min(ms) / ms.front());
  }
  double reduction(const std::string& model) const { return reduction(prefetched.at(model)); }
  double reduction_over_none(const std::string& model) const {
    return 100 * (1 - std::ranges::min(prefetched.at(model)) / none.at(model));
  }
  int saturation_mb(const std::string& model) const {  // the smallest within 0.05 % of the best
    const std::vector<double>& ms = prefetched.at(model);
    const double enough = 1.0005 * std::ranges::min(ms);
    return sizes()[static_cast<std::size_t>(std::ranges::find_if(ms, [&](double t) { return t <= enough; }) -
                                            ms.begin())];
  }
};

Curves curves_of(const Runs& runs, CaseResult Measured::*set) {
  const auto tpot = [&](const Run& run) { return (runs.at(run).*set).tpot_mean_ms; };
  const auto tokens = [](std::int64_t length) { return static_cast<double>(length) / 3; };
  const std::vector<int> all = sizes();
  const double share = 1. / static_cast<double>(std::size(batches) * std::size(lengths)),
               of_models = share / static_cast<double>(explored_models.size());
  std::vector<double> areas;
  for (const int mb : all) areas.push_back(die_mm2(mb));
  Curves curves;
  curves.density.resize(all.size());
  curves.density_none.resize(all.size());
  for (const std::string& model : explored_models) {
    std::vector<double>&ms = curves.prefetched[model], &steps = curves.steps[model];
    ms.resize(all.size());
    steps.resize(all.size());
    each_workload([&](int batch, std::int64_t length) {
      const double none = tpot(without_prefetching(point(model, batch, length, 0)));
      curves.none[model] += share * tokens(length) * none;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const Run run = point(model, batch, length, all[i]);
        const double step = tpot(run), mm2 = run.devices * areas[i];
        ms[i] += share * tokens(length) * step;
        steps[i] += share * step;
        curves.density[i] += of_models * 1e3 * batch / step / mm2;
        curves.density_none[i] += of_models * 1e3 * batch / none / mm2;
      }
    });
  }
  return curves;
}

template <class Of>
std::vector<double> over_models(const Of& of) {
  std::vector<double> values;
  for (const std::string& model : explored_models) values.push_back(of(model));
  return values;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

struct Figures {  // what the rows compare, of one set
  double least, average, most;
  double saturation_min, saturation_max, at_136_or_144;
  double best_mb, at_104, ratio, density, density_none;  // densities over one die
};

Figures figures_of(const Curves& curves) {
  const auto reductions = over_models([&](auto& m) { return curves.reduction(m); });
  const auto saturations = over_models([&](auto& m) { return static_cast<double>(curves.saturation_mb(m)); });
  const auto best = std::ranges::max_element(curves.density);
  const std::vector<int> all = sizes();
  const auto index_104 = std::ranges::find(all, 104) - all.begin();
  return {std::ranges::min(reductions),
          mean(reductions),
          std::ranges::max(reductions),
          std::ranges::min(saturations),
          std::ranges::max(saturations),
          static_cast<double>(
              std::ranges::count_if(saturations, [](double mb) { return mb == 136 || mb == 144; })),
          static_cast<double>(all[static_cast<std::size_t>(best - curves.density.begin())]),
          curves.density[static_cast<std::size_t>(index_104)] / *best,
          *best / curves.density_none.front(),
          *best * dies,
          std::ranges::max(curves.density_none) * dies};
}

void write_curves(const Folder& folder, const Curves& paper, const Curves& physical) {
  OutputFile file(folder / "l2_size.csv");
  file.text("l2_mb");
  for (const std::string& model : explored_models) file.print(",{}", model);
  file.text(",mean,mean_physical,density,density_none,density_physical,density_none_physical\n");
  const std::vector<int> all = sizes();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto normal = [i](const Curves& curves) {
      return over_models(
          [&](auto& m) { return curves.prefetched.at(m)[i] / curves.prefetched.at(m).front(); });
    };
    file.print("{}", all[i]);
    for (const double v : normal(paper)) file.print(",{:.5f}", v);
    file.print(",{:.5f},{:.5f},{:.4f},{:.4f},{:.4f},{:.4f}\n", mean(normal(paper)), mean(normal(physical)),
               paper.density[i], paper.density_none[i], physical.density[i], physical.density_none[i]);
  }
  file.close();
}

// The model of the least row has an MLP that fits the smallest L2, which the figure is relative to.
std::string note_on_least(const Curves& curves) {
  const auto least = std::ranges::min_element(explored_models, {},
                                              [&](const std::string& m) { return curves.reduction(m); });
  const auto over_none = over_models([&](auto& m) { return curves.reduction_over_none(m); });
  return fmt::format(
      "of {}, whose MLP is prefetched into {} MB already; over no prefetching it gains {:.1f} %, and all "
      "models {:.1f} to {:.1f}, {:.1f} on the mean",
      *least, smallest_mb, curves.reduction_over_none(*least), std::ranges::min(over_none),
      std::ranges::max(over_none), mean(over_none));
}

std::string note_on_weights(const Curves& curves) {
  const auto alike = over_models([&](auto& m) { return Curves::reduction(curves.steps.at(m)); });
  return fmt::format(
      "latencies are those of whole answers, so that long ones weigh more; every workload's step alike: "
      "{:.1f} to "
      "{:.1f} %, {:.1f} on the mean",
      std::ranges::min(alike), std::ranges::max(alike), mean(alike));
}

}  // namespace

void want_exploration(Runs& runs) {
  for (const std::string& model : explored_models)
    each_workload([&](int batch, std::int64_t length) {
      runs.want(without_prefetching(point(model, batch, length, 0)));
      for (const int mb : sizes()) runs.want(point(model, batch, length, mb));
    });
}

void add_exploration(const Runs& runs, const Folder& folder, Rows& rows) {
  const Curves paper = curves_of(runs, &Measured::paper), physical = curves_of(runs, &Measured::physical);
  write_curves(folder, paper, physical);
  const Figures a = figures_of(paper), b = figures_of(physical);
  const auto add = [&](const char* id, const char* metric, std::optional<double> published,
                       double Figures::*what, std::optional<double> low, std::optional<double> high) {
    add_row(rows, id, metric, published, {a.*what, b.*what}, low, high);
  };
  add("fig6_min", "latency saved by L2 beyond 8 MB, %, the least of 12 models", 20, &Figures::least, 17, 23);
  rows.back().note = note_on_least(paper);
  add("fig6_mean", "the mean of 12 models", 25, &Figures::average, 23, 29);
  rows.back().note = note_on_weights(paper);
  add("fig6_max", "the most", 36, &Figures::most, 32, 40);
  add("fig6_saturation_min_mb", "smallest L2 within 0.05 % of the best, MB, least of 12 models", 136,
      &Figures::saturation_min, 136, {});
  add("fig6_saturation_max_mb", "the most", 144, &Figures::saturation_max, {}, 152);
  add("fig6_models_at_136_or_144", "models for which it is 136 or 144 MB", {}, &Figures::at_136_or_144, 10,
      {});
  add("fig7_best_l2_mb", "L2 of most decoded tokens/s/mm2 with prefetching, MB", 104, &Figures::best_mb, 80,
      112);
  add("fig7_density_at_104_over_peak", "tokens/s/mm2 at 104 MB over the best", 1, &Figures::at_104, 0.99, {});
  add("fig7_ratio", "best with prefetching over 8 MB without", 1.25, &Figures::ratio, 1.20, 1.28);
  rows.back().note =
      "8 MB is the smallest L2 swept: what an operator reuses within itself is read once whatever its size";
  const auto add_density = [&](const char* id, const char* metric, double published, double Figures::*what) {
    add(id, metric, published, what, {}, {});
    rows.back().note = fmt::format(
        "tokens of {} NPUs over the area of one, to which the paper's are nearest, mean over models and "
        "workloads; "
        "over all dies {:.3f}, physical {:.3f}",
        dies, a.*what / dies, b.*what / dies);
  };
  add_density("fig7_density", "tokens/s/mm2 of one die, best with prefetching", 14.8, &Figures::density);
  add_density("fig7_density_none", "tokens/s/mm2 of one die, best without", 11.8, &Figures::density_none);
}

}  // namespace weir::preserve
