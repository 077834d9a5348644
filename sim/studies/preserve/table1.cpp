// Table 1: whole requests on two, four and eight Ascend 910B.
#include <algorithm>

#include "sim/studies/preserve/study.h"

namespace weir::preserve {
namespace {

struct Published {  // Table 1: seconds without and with prefetching
  const char* model;
  int devices;
  double without, with;
};
constexpr Published rows_published[] = {
    {"llama3-8b", 2, 148.8, 111.3},   {"llama3-8b", 4, 128.2, 80.6},    {"llama3-8b", 8, 60.3, 54.5},
    {"llama3-70b", 2, 596.0, 515.8},  {"llama3-70b", 4, 501.5, 368.7},  {"llama3-70b", 8, 233.8, 211.1},
    {"qwen2-7b", 2, 130.9, 111.6},    {"qwen2-7b", 4, 68.8, 63.0},      {"qwen2-7b", 8, 57.6, 52.7},
    {"qwen2-72b", 2, 700.0, 616.2},   {"qwen2-72b", 4, 593.6, 438.4},   {"qwen2-72b", 8, 402.8, 342.4},
    {"phi3-small", 2, 147.8, 110.0},  {"phi3-small", 4, 128.4, 79.9},   {"phi3-small", 8, 59.2, 54.2},
    {"phi3-medium", 2, 192.8, 157.3}, {"phi3-medium", 4, 171.8, 119.9}, {"phi3-medium", 8, 89.3, 80.4}};

Run run_of(const Published& row, const char* prefetch) {
  return on_910b(row.model, row.devices, 4, 16384, prefetch);
}

double seconds(const Runs& runs, const Run& run) {
  return 1e-3 * runs.at(run).physical.e2e_mean_ms;
}

}  // namespace

void want_table1(Runs& runs) {
  for (const Published& row : rows_published)
    for (const char* prefetch : {"none", "preserve"}) {
      runs.want(run_of(row, prefetch));
      runs.want(strided(run_of(row, prefetch)));
    }
}

void add_table1(const Runs& runs, const Folder&, Rows& rows) {
  Rows each;
  double published = 0;
  Both mean{0, 0};
  double mean_strided = 0;
  std::vector<double> over_roofline;  // measured seconds over ours, without prefetching
  const double share = 1. / static_cast<double>(std::size(rows_published));
  for (const Published& row : rows_published) {
    const Run without = run_of(row, "none"), with = run_of(row, "preserve");
    const Both gains = both([&](auto set) { return gain(runs, without, with, set); });
    const double strides = gain(runs, strided(without), strided(with), &Measured::paper);
    published += share * row.without / row.with;
    mean = {mean.paper + share * gains.paper, mean.physical + share * gains.physical};
    mean_strided += share * strides;
    over_roofline.push_back(row.without / seconds(runs, without));
    add_row(each, fmt::format("tab1_{}_{}", row.model, row.devices),
            fmt::format("speed-up of 4 x 16k, {} on {} 910B", row.model, row.devices), row.without / row.with,
            gains)
        .note = fmt::format("measured {} s without, simulated {:.1f} s; strided, fitted: {:.3f}", row.without,
                            seconds(runs, without), strides);
  }
  const auto [least, most] = std::ranges::minmax(over_roofline);
  add_row(rows, "tab1_mean", "mean of Table 1's 18 speed-ups", published, mean).note = fmt::format(
      "the measured servers take {:.1f} to {:.1f} times the seconds that compute, memory and links explain",
      least, most);
  add_fitted_row(rows, "tab1_mean_strided", "the same, K and V of several heads read at half the bandwidth",
                 published, mean_strided)
      .note = note_on_strides;
  rows.insert(rows.end(), each.begin(), each.end());
}

}  // namespace weir::preserve
