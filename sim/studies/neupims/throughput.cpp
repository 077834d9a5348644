// Figures 12 and 14: throughput of the three machines, and of layouts of the last.
#include <fmt/format.h>

#include <algorithm>

#include "sim/studies/neupims/study.h"

namespace weir::neupims {

const std::vector<int> batches = {64, 128, 256, 384, 512};
const std::vector<const char*> datasets = {"alpaca", "sharegpt"};

StudyPoint throughput_point(const Machine& machine, const Model& model, const char* dataset, int batch) {
  return {machine, model.name, model.tensor, model.pipeline, dataset, batch};
}

namespace {

struct Ratios {
  std::vector<double> all, sharegpt, alpaca;
  void add(const char* dataset, double ratio) {
    all.push_back(ratio);
    (dataset == std::string("sharegpt") ? sharegpt : alpaca).push_back(ratio);
  }
};

struct BothRatios {
  Ratios paper, physical;
};

BothRatios ratios(const Runs& runs, const Machine& fast, const Machine& slow) {
  BothRatios both;
  for (const Model& model : models)
    for (const char* dataset : datasets)
      for (const int batch : batches) {
        const Measured &a = runs.at(throughput_point(fast, model, dataset, batch)),
                       &b = runs.at(throughput_point(slow, model, dataset, batch));
        both.paper.add(dataset, a.paper.output_throughput / b.paper.output_throughput);
        both.physical.add(dataset, a.physical.output_throughput / b.physical.output_throughput);
      }
  return both;
}

struct Layout {
  int tensor, pipeline;
  double published;  // GPT3-30B, over the last
};
const Layout layouts[] = {{8, 1, 3.07}, {4, 2, 1.91}, {2, 4, 1}};
constexpr int layout_requests = 256;

StudyPoint layout_of(const Model& model, const Layout& layout) {
  return {neupims, model.name, layout.tensor, layout.pipeline, "sharegpt", layout_requests / layout.pipeline};
}

bool fits(const Model& model) {  // eight devices of 32 GB
  return std::string(model.name) != "gpt3-175b";
}

}  // namespace

void want_throughput(Runs& runs) {
  for (const Machine& machine : {npu_only, npu_pim, neupims})
    for (const Model& model : models)
      for (const char* dataset : datasets)
        for (const int batch : batches) runs.want(throughput_point(machine, model, dataset, batch));
}

void add_throughput(const Runs& runs, Rows& rows) {
  const BothRatios pim = ratios(runs, npu_pim, npu_only), all = ratios(runs, neupims, npu_only),
                   gain = ratios(runs, neupims, npu_pim);
  const auto by_dataset = [](const Ratios& r) {
    return fmt::format("ShareGPT {:.2f}, Alpaca {:.2f}", mean(r.sharegpt), mean(r.alpaca));
  };
  const auto add_mean = [&](const char* id, const char* what, double published, const BothRatios& r,
                            double low, std::optional<double> high) {
    ReproducedRow row;
    row.id = id;
    row.metric = fmt::format("throughput, {}: mean of 4 models, 2 datasets, 5 batches", what);
    row.paper = published;
    row.simulated = mean(r.paper.all);
    row.physical = mean(r.physical.all);
    row.physical_accept_min = low;
    row.physical_accept_max = high;
    row.note = fmt::format("the paper set was fitted to it; {}; physical: {}", by_dataset(r.paper),
                           by_dataset(r.physical));
    rows.push_back(row);
  };
  add_mean("fig12_npupim_over_npuonly_mean", "NPU+PIM over NPU-only", 1.5, pim, 1.05, {});
  add_mean("fig12_neupims_over_npuonly_mean", "NeuPIMs over NPU-only", 2.4, all, 1.25, {});
  add_mean("fig12_neupims_over_npupim_mean", "NeuPIMs over NPU+PIM", 1.6, gain, 1.05, 1.8);

  const auto add_extreme = [&](const char* id, const char* metric, double published,
                               auto extreme) -> ReproducedRow& {
    ReproducedRow row;
    row.id = id;
    row.metric = metric;
    row.paper = published;
    row.simulated = *extreme(gain.paper.all);
    row.physical = *extreme(gain.physical.all);
    return rows.emplace_back(row);
  };
  ReproducedRow& low = add_extreme("fig12_neupims_over_npupim_min", "the least of those 40 ratios", 1.13,
                                   std::ranges::min_element);
  low.accept_min = 1.0;
  low.physical_accept_min = 0.98;
  ReproducedRow& high = add_extreme("fig12_neupims_over_npupim_max", "the largest of those 40 ratios", 3.0,
                                    std::ranges::max_element);
  high.accept_min = 2.5;
  high.accept_max = 3.3;
  ReproducedRow larger;
  larger.id = "fig12_sharegpt_above_alpaca";
  larger.metric = "1: NeuPIMs gains more over NPU+PIM on ShareGPT than on Alpaca";
  larger.paper = 1;
  larger.simulated = mean(gain.paper.sharegpt) > mean(gain.paper.alpaca);
  larger.physical = mean(gain.physical.sharegpt) > mean(gain.physical.alpaca);
  larger.accept_min = larger.accept_max = larger.physical_accept_min = larger.physical_accept_max = 1;
  rows.push_back(larger);
}

void want_layouts(Runs& runs) {
  for (const Model& model : models)
    if (fits(model))
      for (const Layout& layout : layouts) runs.want(layout_of(model, layout));
}

void add_layouts(const Runs& runs, Rows& rows) {
  ReproducedRow order;
  order.id = "fig14_tp_over_pp";
  order.metric = "1: (TP, PP) = (8, 1) > (4, 2) > (2, 4), 256 requests, every model that fits 8 devices";
  order.paper = order.accept_min = order.accept_max = order.physical_accept_min = order.physical_accept_max =
      1;
  order.simulated = order.physical = 1;
  order.note = "the weights of GPT3-175B do not fit";
  for (const Model& model : models) {
    if (!fits(model)) continue;
    std::vector<const Measured*> found;
    for (const Layout& layout : layouts) found.push_back(&runs.at(layout_of(model, layout)));
    for (std::size_t i = 0; i + 1 < found.size(); ++i) {
      if (found[i]->paper.output_throughput <= found[i + 1]->paper.output_throughput) order.simulated = 0;
      if (found[i]->physical.output_throughput <= found[i + 1]->physical.output_throughput)
        order.physical = 0;
    }
    if (std::string(model.name) != "gpt3-30b") continue;
    for (std::size_t i = 0; i + 1 < found.size(); ++i) {
      ReproducedRow row;
      row.id = fmt::format("fig14_30b_tp{}_pp{}", layouts[i].tensor, layouts[i].pipeline);
      row.metric = fmt::format("GPT3-30B, ({}, {}) over (2, 4)", layouts[i].tensor, layouts[i].pipeline);
      row.paper = layouts[i].published;
      row.simulated = found[i]->paper.output_throughput / found.back()->paper.output_throughput;
      row.physical = found[i]->physical.output_throughput / found.back()->physical.output_throughput;
      rows.push_back(row);
    }
  }
  rows.push_back(order);
}

}  // namespace weir::neupims
