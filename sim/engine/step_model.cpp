#include "sim/engine/step_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace weir {
namespace {

// Whoever plays steps one by one decides anew after so many: an arrival then wastes few that were played.
constexpr std::int64_t most_played_steps = 32;

StepGraph step_graph(const ReplicaSpec& replica, const StageGraph& placed) {
  const DeviceSpec& device = replica.on->spec();
  if (device.units.size() > StepCost::most_units)
    throw std::invalid_argument(fmt::format("{} has {} units; a step counts {} at most", device.kind,
                                            device.units.size(), StepCost::most_units));
  return stage_step({&placed, 1}, device.units, device.memory_bandwidth, replica.links.bandwidth).graph;
}

StepCost attributed(const KernelCost& kernel, const Operator& op, double times) {
  StepCost cost;
  cost.time = times * kernel.time;
  (is_collective(op.kind)            ? cost.link_bound
   : kernel.compute > kernel.traffic ? cost.compute_bound
                                     : cost.memory_bound) = cost.time;
  cost.flops = times * kernel.flops;
  cost.memory = times * kernel.memory;
  cost.link = times * kernel.link;
  cost.energy = times * kernel.energy;
  cost.busy[static_cast<std::size_t>(op.unit)] = cost.time;
  return cost;
}

}  // namespace

StepCost& StepCost::operator+=(const StepCost& o) {
  time += o.time;
  compute_bound += o.compute_bound;
  memory_bound += o.memory_bound;
  link_bound += o.link_bound;
  host_bound += o.host_bound;
  flops += o.flops;
  memory += o.memory;
  link += o.link;
  energy += o.energy;
  for (std::size_t unit = 0; unit < most_units; ++unit) busy[unit] += o.busy[unit];
  return *this;
}

StepCost operator*(double k, const StepCost& c) {
  StepCost scaled{k * c.time,  k * c.compute_bound, k * c.memory_bound, k * c.link_bound, k * c.host_bound,
                  k * c.flops, k * c.memory,        k * c.link,         k * c.energy,     {}};
  for (std::size_t unit = 0; unit < StepCost::most_units; ++unit) scaled.busy[unit] = k * c.busy[unit];
  return scaled;
}

Seconds StepRun::time(std::int64_t n) const {
  const auto k = static_cast<double>(n);
  return k * first.time + k * (k - 1) / 2 * slope.time;
}

StepCost StepRun::total(std::int64_t n) const {
  const auto k = static_cast<double>(n);
  StepCost sum = k * first;
  sum += k * (k - 1) / 2 * slope;
  return sum;
}

StageGraph placed_stage(const Scenario& scenario, const ReplicaSpec& replica, int stage) {
  StageGraph graph = build_stage(scenario.model, scenario.precision, replica.parallelism, stage);
  graph = replica.partitioning->place(std::move(graph), replica.on->spec().unit_names());
  return replica.prefetch->add_prefetches(std::move(graph));
}

StepModel::StepModel(const ReplicaSpec& replica, const StageGraph& placed, bool collectives_elsewhere)
    : device_(replica.on),
      links_(replica.collectives),
      engine_(replica.engine),
      collectives_elsewhere_(collectives_elsewhere),
      graph_(step_graph(replica, placed)),
      timeline_(graph_),
      serial_(graph_.serial()) {
  if (collectives_elsewhere_ && !serial_)
    throw std::invalid_argument("collectives cannot be played as flows where operators overlap");
  if (device_->measures_sampler()) engine_.per_sequence = Seconds(0);
  int index = 0;
  const auto sort_in = [this, &index](const OperatorGraph& operators, double times) {
    for (const auto v : boost::make_iterator_range(boost::vertices(operators))) {
      const Operator& op = operators[v];
      auto& ops = op.kind == OperatorKind::attention ? attention_ops_
                  : op.rows == Rows::sequences       ? sequence_ops_
                                                     : token_ops_;
      ops.push_back({op, index++, times});
    }
  };
  sort_in(placed.prologue, 1);
  if (placed.layers > 0) sort_in(placed.block, static_cast<double>(placed.layers));
  sort_in(placed.epilogue, 1);
}

KernelCost StepModel::kernel(const Operator& op, const BatchShape& batch) const {
  KernelCost cost = device_->cost(op, batch, *links_);
  if (collectives_elsewhere_ && is_collective(op.kind)) cost.time = Seconds(0);
  return cost;
}

const StepCost& StepModel::by_rows(std::vector<StepCost>& memo, const PlacedOps& ops, std::int64_t rows,
                                   const BatchShape& batch) const {
  const auto at = static_cast<std::size_t>(rows);
  if (at >= memo.size()) memo.resize(std::max(at + 1, 2 * memo.size()), StepCost{.time = Seconds(-1)});
  if (memo[at].time < Seconds(0)) {
    StepCost sum;
    for (const Placed& placed : ops) sum += attributed(kernel(placed.op, batch), placed.op, placed.times);
    memo[at] = sum;
  }
  return memo[at];
}

StepCost StepModel::without_attention(const BatchShape& batch) const {
  StepCost cost = by_rows(token_memo_, token_ops_, batch.tokens(), batch);
  cost += by_rows(sequence_memo_, sequence_ops_, batch.sequences, batch);
  const Seconds host = host_time(batch);
  cost.host_bound += host;
  cost.time += host;
  return cost;
}

Seconds StepModel::host_time(const BatchShape& batch) const {
  return engine_.per_step + static_cast<double>(batch.sequences) * engine_.per_sequence;
}

StepCost StepModel::step(const BatchShape& batch) const {
  if (!serial_) return played(batch);
  StepCost cost = without_attention(batch);
  for (const Placed& placed : attention_ops_)
    cost += attributed(kernel(placed.op, batch), placed.op, placed.times);
  return cost;
}

StepCost StepModel::fill_timeline(const BatchShape& batch) const {
  StepCost sum;
  for (const PlacedOps* ops : {&token_ops_, &sequence_ops_, &attention_ops_})
    for (const Placed& placed : *ops) {
      const KernelCost cost = kernel(placed.op, batch);
      set_cost(timeline_, graph_, placed.index, cost);
      sum += attributed(cost, placed.op, placed.times);
    }
  return sum;
}

// Flops, bytes and energy are the kernels', whenever they run; what they wait and how they slow is played.
StepCost StepModel::played(const BatchShape& batch) const {
  StepCost cost = fill_timeline(batch);
  const StepResult& result = timeline_.evaluate();
  const double stretch = cost.time > Seconds(0) ? result.total / cost.time : 0;
  for (Seconds* bound : {&cost.compute_bound, &cost.memory_bound, &cost.link_bound})
    *bound = stretch * *bound;
  for (std::size_t unit = 0; unit < result.busy.size(); ++unit) cost.busy[unit] = result.busy[unit][0];
  cost.host_bound = host_time(batch);
  cost.time = result.total + cost.host_bound;
  return cost;
}

std::vector<StepModel::OperatorSpan> StepModel::operators(const BatchShape& batch) const {
  fill_timeline(batch);
  std::vector<OperatorRecord> records;
  timeline_.evaluate({.trace = &records});
  const Seconds host = host_time(batch);
  std::vector<OperatorSpan> spans;
  for (const OperatorRecord& record : records) {
    const auto& op = graph_.operators[static_cast<std::size_t>(record.op)];
    if (record.finish > record.start)
      spans.push_back({op.name, op.alternatives[0].unit, host + record.start, host + record.finish});
  }
  return spans;
}

std::int64_t StepModel::decode_run(const BatchShape& batch, std::int64_t steps,
                                   std::vector<StepRun>& runs) const {
  const std::int64_t covered = serial_ ? steps : std::min(steps, most_played_steps);
  BatchShape shape = batch;
  for (std::int64_t left = covered; left > 0;) {
    const StepRun run = serial_ ? affine_run(shape, left) : StepRun{played(shape), {}, 1};
    runs.push_back(run);
    left -= run.steps;
    shape.decode_context_sum += run.steps * shape.decodes;
    shape.decode_context_max += run.steps;
  }
  return covered;
}

StepRun StepModel::affine_run(const BatchShape& batch, std::int64_t steps) const {
  StepRun run{.first = without_attention(batch), .slope = {}, .steps = steps};
  for (const Placed& placed : attention_ops_) {
    const AffineKernelCost attention = device_->decode_attention(placed.op, batch);
    run.first += attributed(attention.first, placed.op, placed.times);
    // The slope follows the first step's bound, so that time stays the sum of its parts.
    KernelCost slope = attention.slope;
    slope.compute = attention.first.compute;
    slope.traffic = attention.first.traffic;
    run.slope += attributed(slope, placed.op, placed.times);
    run.steps = std::min(run.steps, attention.steps);
  }
  return run;
}

std::vector<StepModel::CollectiveCall> StepModel::collectives(const BatchShape& batch) const {
  std::vector<CollectiveCall> calls;
  for (const PlacedOps* ops : {&token_ops_, &sequence_ops_})
    for (const auto& [op, index, times] : *ops) {
      if (!is_collective(op.kind)) continue;
      const std::int64_t rows = op.rows == Rows::sequences ? batch.sequences : batch.tokens();
      const Collective kind = op.kind == OperatorKind::all_reduce   ? Collective::all_reduce
                              : op.kind == OperatorKind::all_gather ? Collective::all_gather
                                                                    : Collective::all_to_all;
      calls.push_back({kind, static_cast<double>(rows) * op.bytes_per_row, static_cast<std::int64_t>(times),
                       static_cast<std::size_t>(op.unit)});
    }
  return calls;
}

}  // namespace weir
