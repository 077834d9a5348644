// How far Algorithm 1 is from the best set of prefetches, which the paper does not ask: last steps of the
// longest of Figure 6's workloads, over the size of the L2.
#include <algorithm>

#include "sim/app/output/output_file.h"
#include "sim/studies/preserve/study.h"

namespace weir::preserve {
namespace {

constexpr int bound_smallest_mb = 8, bound_largest_mb = 152, bound_step_mb = 16;
constexpr const char* policies[] = {"oracle", "preserve", "window_aware"};

Run last_step(const std::string& model, int l2_mb, const char* prefetch) {
  return {.model = model,
          .batch = 32,
          .length = 16384,
          .l2_mb = static_cast<double>(l2_mb),
          .prefetch = prefetch,
          .measure = Measure::last_step};
}

template <class Action>
void each_size(const Action& action) {
  for (int mb = bound_smallest_mb; mb <= bound_largest_mb; mb += bound_step_mb) action(mb);
}

// The ratio is that of Algorithm 1's step over the best set's.
double gap(const Runs& runs, const std::string& model, int mb, CaseResult Measured::*set) {
  return gain(runs, last_step(model, mb, "preserve"), last_step(model, mb, "oracle"), set);
}

double mean_speedup(const Runs& runs, int mb, const char* prefetch, CaseResult Measured::*set) {
  double sum = 0;
  for (const std::string& model : explored_models)
    sum += gain(runs, last_step(model, bound_smallest_mb, "none"), last_step(model, mb, prefetch), set);
  return sum / static_cast<double>(explored_models.size());
}

}  // namespace

void want_bound(Runs& runs) {
  for (const std::string& model : explored_models) {
    runs.want(last_step(model, bound_smallest_mb, "none"));
    for (const char* prefetch : policies)
      each_size([&](int mb) { runs.want(last_step(model, mb, prefetch)); });
  }
}

void add_bound(const Runs& runs, const Folder& folder, Rows& rows) {
  OutputFile file(folder / "bound.csv");
  file.text("l2_mb");
  for (const char* prefetch : policies) file.print(",{0},{0}_physical", prefetch);
  file.text("\n");
  each_size([&](int mb) {
    file.print("{}", mb);
    for (const char* prefetch : policies)
      file.print(",{:.5f},{:.5f}", mean_speedup(runs, mb, prefetch, &Measured::paper),
                 mean_speedup(runs, mb, prefetch, &Measured::physical));
    file.text("\n");
  });
  file.close();

  Both sum{0, 0}, most{1, 1};
  double points = 0;
  std::string where;
  for (const std::string& model : explored_models)
    each_size([&](int mb) {
      const Both here = both([&](auto set) { return gap(runs, model, mb, set); });
      if (here.paper > most.paper) where = fmt::format("{}, {} MB", model, mb);
      most = {std::max(most.paper, here.paper), std::max(most.physical, here.physical)};
      sum = {sum.paper + here.paper, sum.physical + here.physical};
      ++points;
    });
  add_row(rows, "bound_mean", "last step of Algorithm 1 over that of the best prefetches, 32 x 16k, mean", {},
          {sum.paper / points, sum.physical / points});
  add_row(rows, "bound_most", "the most of 12 models and 10 sizes of L2", {}, most).note = fmt::format(
      "at {}: it stops at the first operator that does not fit, where smaller ones follow", where);
}

}  // namespace weir::preserve
