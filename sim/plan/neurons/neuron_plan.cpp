#include "sim/plan/neurons/neuron_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "policies/partitioning/neurons/neuron_kernels.h"

namespace weir {
namespace {

// Finds the operators of a layer that do something of its neurons, and what they cost.
class Prices {
 public:
  Prices(const Rank& rank, const OperatorGraph& layer)
      : rank_(rank), layer_(layer), members_(neuron_loads, 1) {
    for (std::size_t v = 0; v < boost::num_vertices(layer); ++v)
      if (const Operator& op = layer[v]; op.slot >= 0 && op.member < 0)
        members_[static_cast<std::size_t>(op.slot)] =
            static_cast<std::size_t>(rank.on->spec().units[static_cast<std::size_t>(op.unit)].members);
  }

  const std::vector<std::size_t>& members() const { return members_; }

  const Operator* projection() const { return found(is_projection); }

  const Operator* computing(NeuronTask task, NeuronBlock block) const {
    return found([&](const Operator& op) {
      return op.slot == neuron_load(task, block) && op.as<Neurons>() != nullptr;
    });
  }

  std::optional<NeuronLink> link(NeuronTask task, NeuronBlock block) const {
    const Operator* op = found([&](const Operator& o) { return o.slot == neuron_load(task, block); });
    if (!op) return {};
    const Line line = over(*op, 1, 1001);  // a line: any two will do
    return NeuronLink{line.fixed, line.each};
  }

  // A copy of results between both sides takes this, one way.
  Seconds synchronisation() const {
    Seconds longest{};
    for (std::size_t v = 0; v < boost::num_vertices(layer_); ++v)
      if (layer_[v].as<Copy>() && layer_[v].slot < 0)
        longest = std::max(longest, rank_.cost(layer_[v], one_decode()).time);
    return longest;
  }

  struct Line {
    Seconds fixed, each;
  };
  // A neuron more takes this between so many and so many, on every member alike.
  Line over(const Operator& op, double few, double many) const {
    const Seconds first = time(op, few), second = time(op, many);
    const Seconds each = 1 / (many - few) * (second - first);
    // A step of GEMM tiles between the two may make the slope larger than the first point has: nothing starts
    // below 0.
    return {std::max(Seconds(0), first - few * each), each};
  }

 private:
  template <class Predicate>
  const Operator* found(const Predicate& is) const {
    for (std::size_t v = 0; v < boost::num_vertices(layer_); ++v)
      if (is(layer_[v])) return &layer_[v];
    return nullptr;
  }

  static BatchShape one_decode() {
    BatchShape batch;
    batch.decodes = batch.decode_context_sum = batch.decode_context_max = batch.sequences = 1;
    return batch;
  }

  Seconds time(const Operator& op, double neurons) const {
    SideLoads loads(1, members_);
    std::ranges::fill(loads.at(op.slot, 0), SideLoad{neurons, neurons, neurons});
    BatchShape batch = one_decode();
    batch.side = &loads;
    std::vector<Seconds> times(members_[static_cast<std::size_t>(op.slot)]);
    return rank_.cost(op, batch, 0, times).time;
  }

  const Rank& rank_;
  const OperatorGraph& layer_;
  std::vector<std::size_t> members_;
};

// Between so many of a block a device's time for one more is taken: kernels of few neurons are all launch.
constexpr double few_active = 1. / 32, many_active = 1. / 8;

NeuronMachine machine_of(const NeuronPlan& plan, const Rank& rank, const StageGraph& placed,
                         const Prices& prices) {
  NeuronMachine machine{};
  const double share = static_cast<double>(plan.counts.layers) / static_cast<double>(plan.layers);
  machine.gpu_room = share * placed.weights.neurons;
  machine.sync = prices.synchronisation();
  Bytes neurons{};
  for (const NeuronBlock block : neuron_blocks) {
    const Operator &hot = *prices.computing(NeuronTask::on_device, block),
                   &cold = *prices.computing(NeuronTask::in_host, block);
    const auto count = static_cast<double>(plan.counts.of(block));
    const Prices::Line device = prices.over(hot, few_active * count, many_active * count);
    machine.costs[block] = {bytes_per_neuron(*hot.as<Neurons>()), device.each,
                            prices.over(cold, 64, 1088).each, device.fixed};
    neurons += static_cast<double>(plan.layers) * count * machine.costs[block].bytes;
  }
  machine.dimms = static_cast<int>(
      prices.members()[static_cast<std::size_t>(neuron_load(NeuronTask::in_host, NeuronBlock::mlp))]);
  const Bytes others = placed.weights.in_host - neurons;
  machine.dimm_room = share / machine.dimms * (rank.host_memory()->capacity - others);
  return machine;
}

bool neighbours_are_parents(const ActivitySource& activity, const NeuronCounts& counts) {
  if (counts.mlp % 2 != 0) return false;
  for (std::int64_t l = 1; l < counts.layers; ++l) {
    const std::span<const NeuronParents> parents = activity.parents(l, NeuronBlock::mlp);
    for (std::int32_t i = 0; i < counts.mlp; ++i) {
      const auto [first, second] = parents[static_cast<std::size_t>(i)];
      if ((first != i || second != (i ^ 1)) && (first != (i ^ 1) || second != i)) return false;
    }
  }
  return true;
}

void check(const NeuronPlan& plan) {
  if (!plan.use.placement) return;
  const NeuronProfile profile(plan);
  if (const std::string why = why_not_placed(plan.machine, profile.layers()); !why.empty())
    throw std::invalid_argument(why);
}

}  // namespace

std::shared_ptr<const NeuronPlan> plan_neurons(const Architecture& model, const Rank& rank,
                                               const StageGraph& placed, const NeuronActivity* activity,
                                               std::uint64_t seed) {
  auto plan = std::make_shared<NeuronPlan>();
  plan->use = *rank.partitioning->neurons();
  plan->seed = seed;
  const Part& layer = part_named(*placed.of_decodes, "block");
  plan->layers = layer.times;
  std::int64_t followed = plan->use.followed_layers.value_or(plan->layers);
  if (followed > plan->layers)
    throw UnfitKey("followed_layers", fmt::format("expected at most the {} layers of the model (got {})",
                                                  plan->layers, followed));
  if (!activity) followed = plan->layers;  // no token has to be followed in them
  plan->counts = {followed, model.hidden, model.layers.front().intermediate};
  if (activity) {
    plan->activity = activity->bind(plan->counts);
    plan->neighbours_are_parents = neighbours_are_parents(*plan->activity, plan->counts);
  }
  const Prices prices(rank, layer.operators);
  plan->members = prices.members();
  if (const Operator* projection = prices.projection()) plan->projection = *projection;
  if (plan->use.placement) plan->machine = machine_of(*plan, rank, placed, prices);
  for (const NeuronBlock block : neuron_blocks) {
    plan->swaps[block] = prices.link(NeuronTask::swapped, block);
    plan->moves[block] = prices.link(NeuronTask::moved, block);
  }
  check(*plan);
  return plan;
}

NeuronProfile::NeuronProfile(const NeuronPlan& plan) {
  const NeuronCounts& counts = plan.counts;
  if (!plan.activity) always_.assign(static_cast<std::size_t>(std::max(counts.attention, counts.mlp)), 1);
  for (std::int64_t l = 0; l < counts.layers; ++l) {
    NeuronLayer layer;
    for (const NeuronBlock block : neuron_blocks)
      layer[block] = plan.activity ? plan.activity->frequency(l, block)
                                   : std::span(always_).first(static_cast<std::size_t>(counts.of(block)));
    layers_.push_back(layer);
  }
}

}  // namespace weir
