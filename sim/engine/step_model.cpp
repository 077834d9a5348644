#include "sim/engine/step_model.h"

#include <algorithm>

namespace weir {
namespace {

bool is_collective(OperatorKind kind) {
  return kind == OperatorKind::all_reduce || kind == OperatorKind::all_gather ||
         kind == OperatorKind::all_to_all;
}

StepCost attributed(const KernelCost& kernel, bool collective, double times) {
  StepCost cost;
  cost.time = times * kernel.time;
  (collective                        ? cost.link_bound
   : kernel.compute > kernel.traffic ? cost.compute_bound
                                     : cost.memory_bound) = cost.time;
  cost.flops = times * kernel.flops;
  cost.memory = times * kernel.memory;
  cost.link = times * kernel.link;
  cost.energy = times * kernel.energy;
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
  return *this;
}

StepCost operator*(double k, const StepCost& c) {
  return {k * c.time,  k * c.compute_bound, k * c.memory_bound, k * c.link_bound, k * c.host_bound,
          k * c.flops, k * c.memory,        k * c.link,         k * c.energy};
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

StepModel::StepModel(std::shared_ptr<const Device> device, StageGraph stage,
                     std::shared_ptr<const CollectiveModel> links, EngineOverhead engine,
                     bool collectives_elsewhere)
    : device_(std::move(device)),
      links_(std::move(links)),
      engine_(std::move(engine)),
      collectives_elsewhere_(collectives_elsewhere) {
  if (device_->measures_sampler()) engine_.per_sequence = Seconds(0);
  const auto sort_in = [this](const OperatorGraph& graph, double times) {
    for (const auto v : boost::make_iterator_range(boost::vertices(graph))) {
      const Operator& op = graph[v];
      if (is_collective(op.kind)) collective_ops_.push_back({op, times});
      if (is_collective(op.kind) && collectives_elsewhere_) continue;
      auto& ops = op.kind == OperatorKind::attention ? attention_ops_
                  : op.rows == Rows::sequences       ? sequence_ops_
                                                     : token_ops_;
      ops.push_back({op, times});
    }
  };
  sort_in(stage.prologue, 1);
  sort_in(stage.block, static_cast<double>(stage.layers));
  sort_in(stage.epilogue, 1);
}

StepCost StepModel::cost_of(const Repeated& r, const BatchShape& batch) const {
  return attributed(device_->cost(r.op, batch, *links_), is_collective(r.op.kind), r.times);
}

const StepCost& StepModel::by_rows(std::vector<StepCost>& memo, const std::vector<Repeated>& ops,
                                   std::int64_t rows, const BatchShape& batch) const {
  const auto at = static_cast<std::size_t>(rows);
  if (at >= memo.size()) memo.resize(std::max(at + 1, 2 * memo.size()), StepCost{.time = Seconds(-1)});
  if (memo[at].time < Seconds(0)) {
    StepCost sum;
    for (const Repeated& op : ops) sum += cost_of(op, batch);
    memo[at] = sum;
  }
  return memo[at];
}

StepCost StepModel::without_attention(const BatchShape& batch) const {
  StepCost cost = by_rows(token_memo_, token_ops_, batch.tokens(), batch);
  cost += by_rows(sequence_memo_, sequence_ops_, batch.sequences, batch);
  const Seconds host = engine_.per_step + static_cast<double>(batch.sequences) * engine_.per_sequence;
  cost.host_bound += host;
  cost.time += host;
  return cost;
}

StepCost StepModel::step(const BatchShape& batch) const {
  StepCost cost = without_attention(batch);
  for (const Repeated& op : attention_ops_) cost += cost_of(op, batch);
  return cost;
}

void StepModel::decode_run(const BatchShape& batch, std::int64_t steps, std::vector<StepRun>& runs) const {
  const StepCost fixed = without_attention(batch);
  BatchShape shape = batch;
  while (steps > 0) {
    StepRun run{.first = fixed, .slope = {}, .steps = steps};
    for (const Repeated& op : attention_ops_) {
      const AffineKernelCost attention = device_->decode_attention(op.op, shape);
      run.first += attributed(attention.first, false, op.times);
      // The slope follows the first step's bound, so that time stays the sum of its parts.
      KernelCost slope = attention.slope;
      slope.compute = attention.first.compute;
      slope.traffic = attention.first.traffic;
      run.slope += attributed(slope, false, op.times);
      run.steps = std::min(run.steps, attention.steps);
    }
    runs.push_back(run);
    steps -= run.steps;
    shape.decode_context_sum += run.steps * shape.decodes;
    shape.decode_context_max += run.steps;
  }
}

std::vector<StepModel::CollectiveCall> StepModel::collectives(const BatchShape& batch) const {
  std::vector<CollectiveCall> calls;
  for (const auto& [op, times] : collective_ops_) {
    const std::int64_t rows = op.rows == Rows::sequences ? batch.sequences : batch.tokens();
    const Collective kind = op.kind == OperatorKind::all_reduce   ? Collective::all_reduce
                            : op.kind == OperatorKind::all_gather ? Collective::all_gather
                                                                  : Collective::all_to_all;
    calls.push_back({kind, static_cast<double>(rows) * op.bytes_per_row, static_cast<std::int64_t>(times)});
  }
  return calls;
}

}  // namespace weir
