// Which points of Figure 12 a device's memory does not hold: they run all the same, as in the authors'
// simulator, which knows no capacity (runs.cpp).
#include <fmt/format.h>

#include <algorithm>

#include "models/memory/memory_spec.h"
#include "sim/studies/neupims/study.h"

namespace weir::neupims {
namespace {

constexpr std::int64_t block_tokens = 16;

// A device holds its weights and the KV of the largest warm batch; the stage that has most counts.
Bytes needed(const Scenario& s, std::size_t requests) {
  std::int64_t most = 0;
  const auto& all = s.workload.requests;
  for (std::size_t first = 0; first < all.size(); first += requests) {
    std::int64_t tokens = 0;
    for (std::size_t i = first; i < std::min(all.size(), first + requests); ++i)
      tokens += (all[i].input_tokens + steps_of_a_batch + block_tokens - 1) / block_tokens * block_tokens;
    most = std::max(most, tokens);
  }
  Bytes worst(0);
  const Sharding& sharding = s.replicas[0].parallelism;
  for (int stage = 0; stage < sharding.pipeline; ++stage)
    worst = std::max(
        worst, weight_bytes(s.model, s.precision, sharding, stage) +
                   static_cast<double>(most) * kv_bytes_per_token(s.model, s.precision, sharding, stage));
  return worst;
}

}  // namespace

void add_capacity(Rows& rows) {
  const Bytes there(static_cast<double>(channels * find_memory(pim_memory_name).organisation.capacity()));
  int points = 0, over = 0;
  std::string which;
  for (const char* dataset : datasets)
    for (const Model& model : models) {
      std::string large;
      for (const int batch : batches) {
        const StudyPoint point = throughput_point(neupims, model, dataset, batch);
        const Scenario s = read_plan(scenario_of(point, "physical"), "capacity").scenario;
        const Bytes bytes = needed(s, static_cast<std::size_t>(batch * model.pipeline));
        ++points;
        if (bytes <= there) continue;
        ++over;
        large += fmt::format("{}{} ({:.0f})", large.empty() ? "" : ", ", batch, bytes.value() / 0x1p30);
      }
      if (!large.empty())
        which += fmt::format("{}{} {} {}", which.empty() ? "" : "; ", model.title, dataset, large);
    }
  ReproducedRow row;
  row.id = "fig12_points_over_memory";
  row.metric = fmt::format("of the {} points of two datasets, those that {} GB a device do not hold", points,
                           there.value() / 0x1p30);
  row.simulated = row.physical = over;
  row.note = which.empty() ? "weights and KV of every point fit"
                           : fmt::format(
                                 "batches (GiB of weights and KV a device): {}. Run as if they fitted: "
                                 "the authors' simulator knows no capacity",
                                 which);
  rows.push_back(row);
  if (over == 0) return;
  for (ReproducedRow& mean : rows)
    if (mean.id.starts_with("fig12_") && mean.id.ends_with("_mean"))
      mean.note +=
          fmt::format("; {} of the {} points do not fit the memory: fig12_points_over_memory", over, points);
}

}  // namespace weir::neupims
