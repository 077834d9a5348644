// Figure 13, each technique by itself, and Table 4, what it does to the units.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/studies/neupims/study.h"

namespace weir::neupims {
namespace {

StudyPoint ablation(const Machine& machine, int batch) {
  return {machine, "gpt3-7b", 4, 1, "sharegpt", batch};
}

constexpr int step = 32, most = 512;  // of the batches that interleaving is looked for at

double ratio(const CaseResult& a, const CaseResult& b) {
  return a.output_throughput / b.output_throughput;
}

struct Both {
  double paper, physical;
};
Both gain(const Runs& runs, const Machine& with, const Machine& without, int batch) {
  const Measured &a = runs.at(ablation(with, batch)), &b = runs.at(ablation(without, batch));
  return {ratio(a.paper, b.paper), ratio(a.physical, b.physical)};
}

double mean_context(const StudyPoint& point) {
  const Scenario scenario = read_plan(scenario_of(point, "paper"), "mean context").scenario;
  double sum = 0;
  for (const Request& request : scenario.workload.requests) sum += static_cast<double>(request.input_tokens);
  return sum / static_cast<double>(scenario.workload.requests.size());
}

}  // namespace

StudyPoint table4_point(const Machine& machine) {
  return {machine, "gpt3-30b", 4, 2, "sharegpt", 256};
}

void want_ablation(Runs& runs) {
  for (const int batch : batches)
    for (const Machine& machine : {npu_pim, dual_buffers, balanced}) runs.want(ablation(machine, batch));
  for (int batch = 64; batch <= most; batch += step)
    for (const Machine& machine : {balanced, interleaved}) runs.want(ablation(machine, batch));
}

void add_ablation(const Runs& runs, Rows& rows) {
  Both dual{0, 0}, least{1e9, 1e9};
  for (const int batch : batches) {
    const Both d = gain(runs, dual_buffers, npu_pim, batch), b = gain(runs, balanced, dual_buffers, batch);
    dual.paper += d.paper / static_cast<double>(batches.size());
    dual.physical += d.physical / static_cast<double>(batches.size());
    least = {std::min(least.paper, b.paper), std::min(least.physical, b.physical)};
  }
  ReproducedRow row;
  row.id = "fig13_drb";
  row.metric = "dual row buffers over NPU+PIM, GPT3-7B, ShareGPT, mean of 5 batches";
  row.paper = 1.697;
  row.simulated = dual.paper;
  row.physical = dual.physical;
  row.accept_min = 1.5;
  row.accept_max = 1.9;
  row.physical_accept_min = 1.0;
  rows.push_back(row);

  row = {};
  row.id = "gmlbp_min_gain";
  row.metric = "greedy min-load placement over round robin, the least of 5 batches";
  row.simulated = least.paper;
  row.physical = least.physical;
  row.accept_min = row.physical_accept_min = 1;
  rows.push_back(row);

  const Both small = gain(runs, interleaved, balanced, 64);
  row = {};
  row.id = "fig13_sbi_at_64";
  row.metric = "sub-batch interleaving over none, batch 64 (the paper: below 1)";
  row.simulated = small.paper;
  row.physical = small.physical;
  row.accept_max = 1;
  rows.push_back(row);

  row = {};
  row.id = "fig13_sbi_first_gain_batch";
  row.metric = fmt::format("smallest batch at which it gains, in steps of {}", step);
  row.paper = 256;
  row.accept_min = 256;
  row.accept_max = 384;
  for (int batch = most; batch >= 64; batch -= step) {
    const Both g = gain(runs, interleaved, balanced, batch);
    if (g.paper > 1) row.simulated = batch;
    if (g.physical > 1) row.physical = batch;
  }
  const Both large = gain(runs, interleaved, balanced, most);
  row.note = fmt::format("at {}: {:.2f}, physical {:.2f}", most, large.paper, large.physical);
  rows.push_back(row);
}

void want_utilisation(Runs& runs) {
  for (const Machine& machine : {npu_only, npu_pim, interleaved}) runs.want(table4_point(machine));
}

void add_utilisation(const Runs& runs, Rows& rows) {
  const Measured &only = runs.at(table4_point(npu_only)), &pim = runs.at(table4_point(npu_pim)),
                 &neu = runs.at(table4_point(interleaved));
  const auto add = [&](const char* id, const char* metric, double published, double CaseResult::*what,
                       const Measured& of, std::optional<double> low, std::optional<double> high) {
    ReproducedRow row;
    row.id = id;
    row.metric = fmt::format("{} utilisation, %, GPT3-30B, ShareGPT, 256", metric);
    row.paper = published;
    row.simulated = 100 * of.paper.*what;
    row.physical = 100 * of.physical.*what;
    row.accept_min = low;
    row.accept_max = high;
    rows.push_back(row);
  };
  const auto npu = &CaseResult::flops_utilisation, bandwidth = &CaseResult::memory_utilisation,
             channels = &CaseResult::pim_utilisation;
  add("tab4_npuonly_npu", "NPU-only: arithmetic", 12.3, npu, only, {}, {});
  add("tab4_npuonly_bw", "NPU-only: bandwidth", 67.6, bandwidth, only, {}, {});
  add("tab4_npupim_npu", "NPU+PIM: arithmetic", 28.0, npu, pim, 25, 31);
  add("tab4_npupim_pim", "NPU+PIM: PIM", 17.0, channels, pim, {}, {});
  add("tab4_npupim_bw", "NPU+PIM: bandwidth", 27.4, bandwidth, pim, 25, 31);
  add("tab4_neupims_npu", "NeuPIMs: arithmetic", 64.9, npu, neu, {}, {});
  add("tab4_neupims_pim", "NeuPIMs: PIM", 26.4, channels, neu, 21, 29);
  add("tab4_neupims_bw", "NeuPIMs: bandwidth", 85.4, bandwidth, neu, 78, 88);
  const auto note = [&](const char* id, const std::string& text) {
    std::ranges::find(rows, id, &ReproducedRow::id)->note = text;
  };
  // A weight has 16 bits and serves two flops a request, so that a byte read is `batch` flops (Table 2: 8
  // arrays of 128 x 128 at 1 GHz, 1,024 GB/s).
  const double flops_per_s = 2. * 8 * 128 * 128 * 1e9, bytes_per_s = 1024e9, batch = 256;
  const auto weights = [&](const Measured& of) {  // of the bandwidth
    return of.paper.flops_utilisation * flops_per_s / batch / bytes_per_s;
  };
  note("tab4_npupim_bw", fmt::format("activations, collectives and the PIM's vectors cross the bus too; the "
                                     "weights alone: {:.1f} %",
                                     100 * weights(pim)));
  const double context = mean_context(table4_point(interleaved)), prototype = 305;
  const double twice = 2 * weights(neu) / neu.paper.memory_utilisation;  // of the traffic
  note("tab4_neupims_pim",
       fmt::format(
           "{:.0f} tokens attended to on the mean, {:.0f} in the range's prototype; a step is as long as "
           "its traffic, of which the weights, once a sub-batch, are {:.0f} %: with these alone and "
           "{:.0f} tokens {:.1f} %",
           context, prototype, 100 * twice, prototype,
           100 * neu.paper.pim_utilisation * prototype / context / twice));
}

}  // namespace weir::neupims
