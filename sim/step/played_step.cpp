#include "sim/step/played_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace weir {
namespace {

// Whichever member runs them.
bool cost_alike(const Operator& a, Operator b) {
  b.member = a.member;
  return a == b;
}

Seconds mean(const std::vector<Seconds>& members) {
  return std::accumulate(members.begin(), members.end(), Seconds(0)) / static_cast<double>(members.size());
}

}  // namespace

PlayedStep::PlayedStep(const Rank& rank, const StageGraph& placed, int chains, const Alternation* alternation)
    : rank_(rank) {
  const DeviceSpec& device = rank.on->spec();
  if (device.units.size() > StepCost::most_units)
    throw std::invalid_argument(fmt::format("{} has {} units; a step counts {} at most", device.kind,
                                            device.units.size(), StepCost::most_units));
  const std::vector<StageGraph> alike(static_cast<std::size_t>(chains), placed);
  StageStep step = stage_step(alike, device.units, device.resources(rank.links.bandwidth), alternation);
  place(step, placed);
  prefetched_.emplace(rank, step, placed);
  graph_ = std::move(step.graph);
  timeline_.emplace(graph_);  // refuses what cannot run
}

void PlayedStep::place(const StageStep& step, const StageGraph& placed) {
  const auto copies_of = [&](const Operator& op) -> Copies& {
    std::vector<Copies>& all = follows_contexts(op) ? by_contexts_ : by_rows_;
    const auto found =
        std::ranges::find_if(all, [&](const Copies& copies) { return cost_alike(copies.op, op); });
    if (found != all.end()) return *found;
    all.push_back({op, 0, std::vector<std::vector<int>>(step.chains.size())});
    return all.back();
  };
  for (std::size_t p = 0; p < placed.parts.size(); ++p) {
    const Part& part = placed.parts[p];
    const std::vector<bool> elsewhere = Prefetched::covered(part.operators);
    for (const auto v : boost::make_iterator_range(boost::vertices(part.operators))) {
      if (elsewhere[v]) continue;
      if (differs_by_layer(part.operators[v])) {
        Layered& layered = by_layer_.emplace_back(Layered{part.operators[v], part.times, {}});
        for (const StageStep::Chain& chain : step.chains)
          layered.index.push_back(chain[p] + static_cast<int>(v));
        continue;
      }
      Copies& copies = copies_of(part.operators[v]);
      copies.times += static_cast<double>(part.times);
      for (std::size_t c = 0; c < step.chains.size(); ++c)
        copies.index[c].push_back(step.chains[c][p] + static_cast<int>(v));
    }
  }
  filled_.resize(step.chains.size());
}

StepCost PlayedStep::fill(const Copies& copies, std::size_t chain, const BatchShape& batch) {
  members_.resize(timeline_->times(copies.index[chain].front()).size());
  const KernelCost cost = rank_.cost(copies.op, batch, 0, members_);
  for (const int op : copies.index[chain]) {
    const StepGraph::Part& part =
        graph_.parts[static_cast<std::size_t>(graph_.operators[static_cast<std::size_t>(op)].part)];
    for (std::int64_t layer = 0; layer < (part.unlike ? part.layers : 1); ++layer) set(op, cost, layer);
  }
  return attributed(cost, copies.op, copies.times);
}

StepCost PlayedStep::fill(const Layered& layered, std::size_t chain, const BatchShape& batch) {
  const int op = layered.index[chain];
  members_.resize(timeline_->times(op).size());
  StepCost sum;
  for (std::int64_t layer = 0; layer < layered.layers; ++layer) {
    const KernelCost cost = rank_.cost(layered.op, batch, layer, members_);
    set(op, cost, layer);
    sum += attributed(cost, layered.op, 1);
  }
  return sum;
}

// With what its members have to do.
void PlayedStep::set(int op, const KernelCost& cost, std::int64_t layer) {
  set_cost(*timeline_, graph_, op, cost, layer);
  if (members_.size() > 1) std::ranges::copy(members_, timeline_->times(op, 0, layer).begin());
}

StepCost PlayedStep::fill_timeline(std::span<const BatchShape> chains) {
  StepCost sum;
  for (std::size_t c = 0; c < chains.size(); ++c) {
    RowsFilled& rows = filled_[c];
    const BatchShape& chain = chains[c];
    if (rows.counts != chain.counts()) {
      StepCost all;
      for (const Copies& copies : by_rows_) all += fill(copies, c, chain);
      rows = {chain.counts(), all};
    }
    sum += rows.sum;
    for (const Copies& copies : by_contexts_) sum += fill(copies, c, chains[c]);
    for (const Layered& layered : by_layer_) sum += fill(layered, c, chains[c]);
  }
  sum += prefetched_->fill(*timeline_, graph_, chains);
  return sum;
}

// Flops, bytes and energy are the kernels', whenever they run; what they wait and how they slow is played.
PlayedCost PlayedStep::cost(std::span<const BatchShape> chains, bool causes) {
  StepCost cost = fill_timeline(chains);
  const StepResult& result = timeline_->evaluate({.causes = causes});
  const double stretch = cost.time > Seconds(0) ? result.total / cost.time : 0;
  for (Seconds* bound : {&cost.compute_bound, &cost.memory_bound, &cost.link_bound})
    *bound = stretch * *bound;
  for (std::size_t unit = 0; unit < result.busy.size(); ++unit) cost.busy[unit] = mean(result.busy[unit]);
  cost.time = result.total;
  return {cost, result.causes,
          prefetched_->any() ? Between::anything
          : result.slowed    ? Between::curve
                             : Between::line};
}

std::vector<OperatorSpan> PlayedStep::operators(std::span<const BatchShape> chains) {
  fill_timeline(chains);
  std::vector<OperatorRecord> records;
  timeline_->evaluate({.causes = false, .trace = &records});
  std::vector<OperatorSpan> spans;
  for (const OperatorRecord& record : records) {
    const auto& op = graph_.operators[static_cast<std::size_t>(record.op)];
    if (record.finish > record.start)
      spans.push_back({op.name, op.alternatives[0].unit, record.start, record.finish});
  }
  return spans;
}

}  // namespace weir
