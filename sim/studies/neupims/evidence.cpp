// Why the physical set is where it is: at one point of Figure 12 each cause is switched off by itself. Where
// no switch exists, its part of the kernels is taken out of the step, in which they follow one another (of
// NeuPIMs, which overlaps: at most so much).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "models/memory/dram/channel.h"
#include "models/memory/pim/beside.h"
#include "models/memory/pim/pim_costs.h"
#include "sim/studies/neupims/study.h"

namespace weir::neupims {
namespace {

constexpr int batch = 256;

StudyPoint point(const Machine& machine, const Variant& variant = {}) {
  StudyPoint p{machine, "gpt3-13b", 4, 1, "sharegpt", batch};
  p.variant = variant;
  return p;
}

// A stream of reads that no refresh stops; with it: the catalog's memory_efficiency.
double unrefreshed_efficiency() {
  const MemorySpec memory = find_memory(pim_memory_name);
  constexpr std::int64_t reads = 65536;
  const ChannelRun run = play(memory, sequential_reads(memory, reads), {.refresh = false});
  return static_cast<double>(reads * memory.timings.burst) / static_cast<double>(run.span());
}

const Variant& no_refresh() {
  static const Variant v{"no refresh",
                         {{"memory_efficiency", unrefreshed_efficiency()}, {"pim_refresh", "off"}},
                         Json::object()};
  return v;
}
const Variant free_links{"free links", Json::object(), Json::object(), Links::free};
const Variant by_head{"head overlap", Json::object(), {{"head_overlap", true}}};
const Variant whole_logits{"whole logits", Json::object(), {{"head_overlap", false}}};

struct Rates {  // tokens a second, physical
  double npu_only, npu_pim, neupims;
};

Rates rates(const Runs& runs, const Variant& variant) {
  const auto at = [&](const Machine& m) { return runs.at(point(m, variant)).physical.output_throughput; };
  return {at(npu_only), at(npu_pim), at(neupims)};
}

// A step that takes so much less.
double faster(double rate, double saved) {
  return batch / (batch / rate - saved);
}

// Decode attention on the arrays, a step: its time, what memory alone would take.
struct OnArrays {
  double time, traffic;
};
OnArrays attention_of_npu() {
  const Plan plan = read_plan(scenario_of(point(npu_only), "physical"), "evidence");
  const Scenario& s = plan.scenario;
  const ReplicaPlan& replica = plan.replicas[0];
  BatchShape decodes;
  decodes.decodes = decodes.sequences = batch;
  for (const Request& r : s.workload.requests) decodes.decode_context_sum += r.input_tokens;
  decodes.decode_context_sum = decodes.decode_context_sum * batch / std::ssize(s.workload.requests) +
                               batch * (steps_of_a_batch - 1) / 2;
  const StageGraph stage = build_stage(s.model, s.precision, replica.spec.parallelism, 0);
  OnArrays sum{0, 0};
  for_each_operator(stage, [&](const Operator& op, double times) {
    if (!op.as<Attention>()) return;
    const KernelCost cost = replica.rank.cost(op, decodes);
    sum.time += times * cost.time.value();
    sum.traffic += times * cost.traffic.value();
  });
  return sum;
}

// Decode attention on the busiest channels, a step: its time, and what its COMPs alone would take.
struct OnPim {
  double time, comps;
};
OnPim attention_of_pim(const Machine& machine, RowBuffers buffers) {
  const MemorySpec memory = find_memory(pim_memory_name);
  PimCosts costs(memory, {.buffers = buffers}), unrefreshed(memory, {.buffers = buffers, .refresh = false});
  const Plan plan = read_plan(scenario_of(point(machine), "physical"), "evidence");
  const Scenario& s = plan.scenario;
  const std::int64_t heads = plan.replicas[0].mha.heads;
  OnPim sum{0, 0};
  const auto all = placed_batches(plan, batch);
  for (const std::vector<PlacedRequest>& placed : all)
    for (const PimOp op : {PimOp::logit, PimOp::attend}) {
      std::map<int, double> busy, commands, comps;  // cycles by channel
      for (const PlacedRequest& r : placed) {
        const PimRequest gemv{op, r.tokens + steps_of_a_batch / 2, heads, s.model.most_heads().dim};
        busy[r.channel] += costs.sustained(gemv);
        commands[r.channel] += unrefreshed.sustained(gemv);
        for (const PimChunk& c : gemv_chunks(memory, gemv))
          comps[r.channel] += static_cast<double>(c.tiles * c.heads * c.comps * memory.pim->comp);
      }
      const auto by_time = [](const auto& a, const auto& b) { return a.second < b.second; };
      const auto [channel, time] = *std::ranges::max_element(busy, by_time);
      sum.time += time;
      sum.comps += time * comps[channel] / commands[channel];  // refresh is another cause
    }
  const double scale =
      static_cast<double>(s.model.layer_count()) * memory.clock.value() / static_cast<double>(all.size());
  return {scale * sum.time, scale * sum.comps};
}

struct Cause {
  const char* off;
  Rates rates;
};

std::vector<Cause> causes(const Runs& runs, const Rates& base) {
  const OnArrays arrays = attention_of_npu();
  const OnPim single = attention_of_pim(npu_pim, RowBuffers::single),
              dual = attention_of_pim(neupims, RowBuffers::dual);
  const auto at = [&](const StudyPoint& p) { return runs.at(p).physical.output_throughput; };
  constexpr double fitted_reads = 0.35, reads = 0.915, fitted_slowdown = 2.5;  // the device catalog's
  return {
      {"without refresh", rates(runs, no_refresh())},
      {"arrays that neither fill nor drain (kernels)",
       {faster(base.npu_only, arrays.time - arrays.traffic), base.npu_pim, base.neupims}},
      {"PIM of COMPs alone, no other command (kernels)",
       {base.npu_only, faster(base.npu_pim, single.time - single.comps),
        faster(base.neupims, dual.time - dual.comps)}},
      {"softmax beside the next heads' logits in NPU+PIM too",
       {base.npu_only, at(point(npu_pim, by_head)), base.neupims}},
      {"softmax after whole logits in NeuPIMs too",
       {base.npu_only, base.npu_pim, at(point(neupims, whole_logits))}},
      {"collectives that cost nothing", rates(runs, free_links)},
      {"the paper set's K and V at 0.35 of the bandwidth (kernels)",
       {faster(base.npu_only, arrays.time - arrays.traffic * reads / fitted_reads), base.npu_pim,
        base.neupims}},
      {"its blocked PIM 2.5 times slower (kernels)",
       {base.npu_only, faster(base.npu_pim, (1 - fitted_slowdown) * single.time), base.neupims}},
  };
}

}  // namespace

void want_evidence(Runs& runs) {
  for (const Machine& machine : {npu_only, npu_pim, neupims})
    for (const Variant& variant : {Variant{}, no_refresh(), free_links}) runs.want(point(machine, variant));
  runs.want(point(npu_pim, by_head));
  runs.want(point(neupims, whole_logits));
}

void add_evidence(const Runs& runs, Rows& rows) {
  const Rates base = rates(runs, {});
  const std::vector<Cause> all = causes(runs, base);
  const auto add = [&](const char* id, double Rates::*over, double Rates::*under) {
    const auto row = std::ranges::find(rows, id, &ReproducedRow::id);
    if (row == rows.end()) return;
    const double now = base.*over / base.*under;
    row->note += fmt::format("; at GPT3-13B, ShareGPT, {} physical gives {:.3f}", batch, now);
    for (const Cause& cause : all) {
      const double then = cause.rates.*over / cause.rates.*under;
      if (std::abs(then - now) >= 0.0005) row->note += fmt::format(", {} {:.3f}", cause.off, then);
    }
  };
  add("fig12_npupim_over_npuonly_mean", &Rates::npu_pim, &Rates::npu_only);
  add("fig12_neupims_over_npuonly_mean", &Rates::neupims, &Rates::npu_only);
  add("fig12_neupims_over_npupim_mean", &Rates::neupims, &Rates::npu_pim);
}

}  // namespace weir::neupims
