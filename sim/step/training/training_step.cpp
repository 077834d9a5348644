#include "sim/step/training/training_step.h"

#include <stdexcept>

#include "models/nn/operations.h"
#include "sim/step/training/operator_cost.h"

namespace weir {
namespace {

constexpr double bytes_per_access = 64;  // a line of the last cache

RuntimeSnapshot snapshot_of(std::span<const UnitState> units, const TrainingPlan& plan) {
  const auto left = [&](int unit) {
    return unit < 0 ? Seconds(0) : units[static_cast<std::size_t>(unit)].left[0];
  };
  RuntimeSnapshot now{.cpu = left(plan.cpu), .gpu = left(plan.gpu), .programmable = left(plan.arm)};
  if (plan.pairs < 0) return now;
  const UnitState& pairs = units[static_cast<std::size_t>(plan.pairs)];
  now.pairs = 1 / pairs.amount * pairs.left[0];
  now.free_pairs = pairs.free;
  now.waiting_for_pairs = pairs.waiting;
  return now;
}

}  // namespace

std::string lacks(const TrainingMachine& machine, const RuntimePolicy& policy) {
  const RuntimeUnits needed = policy.needs();
  const auto has = [&](bool pool) {
    return machine.memory && std::ranges::any_of(machine.memory->spec().units,
                                                 [&](const Unit& unit) { return (unit.amount > 0) == pool; });
  };
  if (needed.gpu ? !machine.gpu : !machine.cpu)
    return needed.gpu ? "the policy needs a GPU" : "the policy needs a CPU";
  if (needed.fixed_function && !has(true)) return "the policy needs a memory with fixed-function pairs";
  if (needed.programmable && !has(false)) return "the policy needs a memory with programmable cores";
  return "";
}

TrainingStep::TrainingStep(const TrainingGraph& training, const TrainingMachine& machine,
                           std::shared_ptr<const RuntimePolicy> policy, std::int64_t steps,
                           std::optional<TrainedNet> beside)
    : nets_{{&training, std::move(policy), steps}} {
  if (beside) nets_.push_back(std::move(*beside));
  for (const TrainedNet& net : nets_) {
    if (net.steps < 1) throw std::invalid_argument("a training run has at least one step");
    if (const std::string lacking = lacks(machine, *net.policy); !lacking.empty())
      throw std::invalid_argument(lacking);
  }
  if (nets_.size() > 1 && nets_[1].policy->profiles())
    throw std::invalid_argument("a net beside another is not profiled");
  if (const RuntimeUnits units = nets_[0].policy->needs(); units.fixed_function || units.programmable)
    host_waiting_ = machine.host_waiting;
  if (profiles()) take_profile(machine);
  std::vector<TrainedNet> played = nets_;
  played[0].steps = std::max<std::int64_t>(1, nets_[0].steps);
  plan_ = plan_training(machine, played);
}

void TrainingStep::take_profile(const TrainingMachine& machine) {
  TrainedNet& net = nets_[0];
  --net.steps;
  std::map<OperatorType, TypeProfile> types;
  for (std::size_t v = 0; v < boost::num_vertices(net.graph->operators); ++v) {
    const OperatorType type = net.graph->operators[v].type;
    const KernelCost cost =
        operator_cost(*machine.cpu, 0, to_string(type), operation_of(*net.graph, v), machine.to_cpu());
    TypeProfile& profile = types[type];
    profile.type = type;
    ++profile.invocations;
    profile.time += cost.time;
    profile.accesses += cost.moved[own_memory].value() / bytes_per_access;
    profiling_ += cost.time;
    profiling_energy_ += cost.energy;
    profiled_bytes_ += cost.moved[own_memory];
    ++profiled_operators_;
  }
  for (const auto& [type, profile] : types) profile_.push_back(profile);
  net.candidates = net.policy->candidates(profile_);
}

// The net that a vertex of the plan is of.
std::size_t TrainingStep::net_of(std::size_t vertex) const {
  return vertex < plan_.vertices[0] ? 0 : 1;
}

PlacementPolicy TrainingStep::placement() const {
  return [this](std::span<const UnitState> units, int op, std::span<const PlacementOption>) {
    const auto vertex = static_cast<std::size_t>(plan_.vertex_of[static_cast<std::size_t>(op)]);
    std::vector<PlaceOption> options;
    for (const PlacedOperator& way : plan_.ways[vertex]) options.push_back(way.option);
    return nets_[net_of(vertex)].policy->choose(snapshot_of(units, plan_), options);
  };
}

// Units and resources with nothing yet, and the profiled step where there is one.
TrainingRun TrainingStep::begun() const {
  TrainingRun run;
  const StepGraph& graph = plan_.graph;
  for (const StepGraph::Unit& unit : graph.units)
    run.busy[unit.name].resize(static_cast<std::size_t>(unit.members));
  for (const StepGraph::Resource& resource : graph.resources) run.moved[resource.name] = Bytes(0);
  if (!profiles()) return run;
  run.ends.push_back(profiling_);
  run.energy = profiling_energy_;
  run.operators[OperatorPlace::cpu] = profiled_operators_;
  run.busy["cpu"][0] = profiling_;
  for (const int r : plan_.cpu_draws_from)
    run.moved[graph.resources[static_cast<std::size_t>(r)].name] = profiled_bytes_;
  return run;
}

TrainingRun TrainingStep::play(bool fold) const {
  TrainingRun run = begun();
  if (nets_[0].steps == 0) return run;
  Timeline timeline(plan_.graph, placement());
  std::vector<MarkedEnd> ends;
  const StepResult& result =
      timeline.evaluate({.fold = fold, .causes = false, .marked = plan_.ends, .marks = &ends});
  for (const MarkedEnd& end : ends)
    (end.op == plan_.ends[0] ? run.ends : run.beside_ends).push_back(profiling_ + end.at);
  for (std::size_t u = 0; u < plan_.graph.units.size(); ++u) {
    std::vector<Seconds>& busy = run.busy[plan_.graph.units[u].name];
    for (std::size_t m = 0; m < busy.size(); ++m) busy[m] += result.busy[u][m];
  }
  for (std::size_t r = 0; r < plan_.graph.resources.size(); ++r)
    run.moved[plan_.graph.resources[r].name] += result.bytes[r];
  for (std::size_t n = 0; n < nets_.size(); ++n)
    run.energy += static_cast<double>(nets_[n].steps) * plan_.feeding[n];
  if (host_waiting_ > Watts(0))
    run.energy += host_waiting_ * (result.total - result.busy[static_cast<std::size_t>(plan_.cpu)][0]);
  std::size_t alternative = 0, v = 0;
  for (std::size_t op = 0; op < plan_.graph.operators.size(); ++op) {
    const bool chooses = v < plan_.chooser.size() && plan_.chooser[v] == static_cast<int>(op);
    for (std::size_t way = 0; chooses && way < plan_.ways[v].size(); ++way) {
      const std::int64_t runs = result.runs.empty() ? nets_[net_of(v)].steps : result.runs[alternative + way];
      const PlacedOperator& placed_operator = plan_.ways[v][way];
      run.operators[placed_operator.option.place] += runs;
      run.energy += static_cast<double>(runs) * placed_operator.energy;
    }
    v += chooses;
    alternative += plan_.graph.operators[op].alternatives.size();
  }
  return run;
}

std::vector<OperatorRecord> TrainingStep::trace() const {
  if (nets_[0].steps == 0) return {};
  Timeline timeline(plan_.graph, placement());
  std::vector<OperatorRecord> records;
  timeline.evaluate({.causes = false, .trace = &records});
  return records;
}

}  // namespace weir
