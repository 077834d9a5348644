// Figure 8, the bandwidth of 128 accelerators' ring, and Figure 10, how many of them; prompts included.
#include <algorithm>

#include "sim/app/output/output_file.h"
#include "sim/studies/preserve/study.h"

namespace weir::preserve {
namespace {

constexpr int bandwidths[] = {200, 400, 600, 800, 1000};
constexpr int clusters[] = {8, 16, 32, 64, 128};

Run network(const std::string& model, double gbit_per_s, const char* prefetch) {
  return {.model = model,
          .devices = 128,
          .batch = 16,
          .length = 8192,
          .gbit_per_s = gbit_per_s,
          .prefetch = prefetch};
}

Run cluster(int devices, const char* prefetch) {
  return {.model = "llama3.1-405b", .devices = devices, .batch = 16, .length = 8192, .prefetch = prefetch};
}

double mean_gain(const Runs& runs, int gbit_per_s, CaseResult Measured::*set) {
  double sum = 0;
  for (const std::string& model : explored_models)
    sum += gain(runs, network(model, gbit_per_s, "none"), network(model, gbit_per_s, "preserve"), set);
  return sum / static_cast<double>(explored_models.size());
}

void write_gains(const Runs& runs, const Folder& folder) {
  OutputFile file(folder / "networks.csv");
  file.text("gbit_per_s");
  for (const std::string& model : explored_models) file.print(",{}", model);
  file.text(",mean,mean_physical\n");
  for (const int gbit : bandwidths) {
    file.print("{}", gbit);
    for (const std::string& model : explored_models)
      file.print(",{:.5f}", gain(runs, network(model, gbit, "none"), network(model, gbit, "preserve"),
                                 &Measured::paper));
    file.print(",{:.5f},{:.5f}\n", mean_gain(runs, gbit, &Measured::paper),
               mean_gain(runs, gbit, &Measured::physical));
  }
  file.close();
}

double rises(const Runs& runs, CaseResult Measured::*set) {
  std::vector<double> gains;
  for (const int gbit : bandwidths) gains.push_back(mean_gain(runs, gbit, set));
  return std::ranges::is_sorted(gains);
}

}  // namespace

void want_networks(Runs& runs) {
  for (const char* prefetch : {"none", "preserve"}) {
    for (const std::string& model : explored_models)
      for (const int gbit : bandwidths) runs.want(network(model, gbit, prefetch));
    for (const int devices : clusters) runs.want(cluster(devices, prefetch));
  }
}

void add_networks(const Runs& runs, const Folder& folder, Rows& rows) {
  write_gains(runs, folder);
  const auto at = [&](int gbit) { return both([&](auto set) { return mean_gain(runs, gbit, set); }); };
  add_row(rows, "fig8_speedup_200", "speed-up at 200 Gbit/s, mean of 12 models, 128 NPUs, 16 x 8k", 1.18,
          at(200), 1.15, 1.21);
  add_row(rows, "fig8_speedup_1000", "at 1,000 Gbit/s", 1.27, at(1000), 1.24, 1.30);
  add_row(rows, "fig8_monotone", "it rises with the bandwidth", 1,
          both([&](auto set) { return rises(runs, set); }), 1);
  for (const int devices : clusters)
    add_row(rows, fmt::format("fig10_speedup_{}", devices),
            fmt::format("speed-up on {} NPUs, Llama3-405B", devices), {}, both([&](auto set) {
              return gain(runs, cluster(devices, "none"), cluster(devices, "preserve"), set);
            }));
  rows.back().note = "the paper's peaks at 32";
}

}  // namespace weir::preserve
