// From a training graph to the timeline's: units and resources of the machine, each operator as its phases in
// each of its places, and what waits for what within a step and from step to step.
#include <fmt/format.h>

#include <algorithm>
#include <boost/range/iterator_range.hpp>
#include <limits>
#include <stdexcept>

#include "models/nn/operations.h"
#include "sim/step/training/gradient_buckets.h"
#include "sim/step/training/operator_cost.h"
#include "sim/step/training/phases.h"

namespace weir {
namespace {

using Alternative = StepGraph::Alternative;

// Where an operator, or a phase of one, runs.
struct Spot {
  int unit = -1;  // of the timeline
  const Device* device = nullptr;
  int device_unit = 0;
  std::vector<int> resources;  // what it moves, it draws from all of these
};

class Planner {
 public:
  explicit Planner(const TrainingMachine& machine) : machine_(machine) { add_units(); }

  void add(const TrainedNet& net) {
    net_ = &net;
    first_.clear();
    last_.clear();
    before_ = plan_.ways.size();
    plan_.graph.add_part(net.graph->net, net.steps, false, !plan_.ends.empty());
    const std::size_t all = boost::num_vertices(net.graph->operators);
    plan_.feeding.emplace_back();
    plan_.reduced.emplace_back();
    feed_ = net.policy->needs().gpu ? add_feed() : -1;
    for (std::size_t v = 0; v < all; ++v) add(v);
    plan_.ends.push_back(add_instant("end"));
    plan_.vertices.push_back(plan_.ways.size());
    net.policy->operation_pipeline() ? join_as_steps_allow() : join_one_by_one();
    if (machine_.copies > 1) add_all_reduces();
  }

  TrainingPlan finish() {
    plan_.vertex_of.resize(plan_.graph.operators.size(), -1);
    return std::move(plan_);
  }

 private:
  const TrainingGraph& training() const { return *net_->graph; }
  const RuntimePolicy& policy() const { return *net_->policy; }

  int unit(const char* name) { return plan_.graph.add_unit(name); }

  int memory_of(const char* name, const std::shared_ptr<const Device>& device) {
    return plan_.graph.add_resource(name, device->spec().own().bandwidth);
  }

  BytesPerSecond capacity(int resource) const {
    return plan_.graph.resources[static_cast<std::size_t>(resource)].capacity;
  }

  void add_units() {
    plan_.host = unit("host");
    std::vector<int> tensors;  // what the CPU draws from
    if (machine_.memory) {
      const int stack = memory_of("stack", machine_.memory);
      tensors = {stack, plan_.graph.add_resource("host_link", machine_.memory->spec().host_bandwidth)};
      add_units_of_memory(stack);
    } else if (machine_.cpu) {
      tensors = {memory_of("host_memory", machine_.cpu)};
    }
    if (machine_.cpu) {
      plan_.cpu = unit("cpu");
      spots_[OperatorPlace::cpu] = {plan_.cpu, machine_.cpu.get(), 0, tensors};
      plan_.cpu_draws_from = tensors;
    }
    if (!machine_.gpu) return;
    plan_.gpu = unit("gpu");
    plan_.copy = unit("copy");
    spots_[OperatorPlace::gpu] = {plan_.gpu, machine_.gpu.get(), 0, {memory_of("gpu_memory", machine_.gpu)}};
    gpu_link_ = plan_.graph.add_resource("gpu_link", machine_.gpu->spec().host_bandwidth);
  }

  void add_units_of_memory(int stack) {
    const auto& units = machine_.memory->spec().units;
    for (std::size_t u = 0; u < units.size(); ++u) {
      const bool pool = units[u].amount > 0;
      const int added = pool ? plan_.graph.add_pool(units[u].name, units[u].amount)
                             : plan_.graph.add_unit(units[u].name, units[u].members);
      (pool ? plan_.pairs : plan_.arm) = added;
      spots_[pool ? OperatorPlace::fixed_function : OperatorPlace::programmable] = {
          added, machine_.memory.get(), static_cast<int>(u), {stack}};
    }
  }

  Phase phase(std::string_view name, const TensorOperation& operation, OperatorPlace place) {
    const auto found = spots_.find(place);
    if (found == spots_.end())
      throw std::invalid_argument(fmt::format("{}: the machine has no place for it", name));
    const Spot& spot = found->second;
    BytesPerSecond reach = BytesPerSecond(std::numeric_limits<double>::infinity());
    for (const int r : spot.resources) reach = std::min(reach, capacity(r));
    const KernelCost cost = operator_cost(*spot.device, spot.device_unit, name, operation, reach);
    const Seconds time = cost.time;
    Phase made{{spot.unit, {{0, time}}, {}}, cost.energy};
    if (spot.unit == plan_.cpu && time > cost.compute) made.moving = 1 - cost.compute / time;
    if (spot.unit == plan_.pairs) {
      const Kernel kernel = operation;
      const Device::PoolShare share =
          spot.device->pool_share({.name = name, .kernel = kernel, .rows = 1}, spot.device_unit);
      made.way.least = policy().operation_pipeline() ? share.least : share.most;
      made.way.most = share.most;
    }
    for (const int r : spot.resources)  // above it by rounding alone
      made.way.draws.push_back(
          {r, time > Seconds(0) ? std::min(capacity(r), cost.moved[own_memory] / time) : BytesPerSecond(0)});
    return made;
  }

  Alternative instant() const { return {plan_.host, {{0, Seconds(0)}}, {}}; }
  int add_instant(const char* name) { return plan_.graph.add_operator(name, {instant()}); }

  int add_feed() {
    Bytes bytes;
    for (const Tensor& tensor : training().tensors)
      if (tensor.kind == TensorKind::fed) bytes += tensor.bytes();
    const DeviceSpec& gpu = machine_.gpu->spec();
    plan_.feeding.back() = gpu.power.per_link_byte * bytes;
    return plan_.graph.add_operator(
        "feed", {{plan_.copy, {{0, bytes / gpu.host_bandwidth}}, {{gpu_link_, gpu.host_bandwidth}}}});
  }

  // Kernels of an operator on the pairs: one an image (ESTIMATE). An update has no images.
  std::size_t kernels_of(const TrainingOperator& op) const {
    return op.phase == TrainingPhase::update ? 1 : static_cast<std::size_t>(training().batch);
  }

  // The host starts and awaits an operator in the memory once, or each of its kernels on the pairs.
  Alternative awaited(const TrainingOperator& op, OperatorPlace place) const {
    if (place == OperatorPlace::cpu || place == OperatorPlace::gpu) return instant();
    const bool each = place != OperatorPlace::programmable && !policy().recursive_kernels();
    const double times = each ? static_cast<double>(kernels_of(op)) : 1;
    return {plan_.host, {{0, times * machine_.synchronisation}}, {}};
  }

  void add(std::size_t v) {
    const TrainingOperator& op = training().operators[v];
    const TensorOperation whole = operation_of(training(), v);
    const bool candidate = std::ranges::find(net_->candidates, op.type) != net_->candidates.end();
    std::vector<OperatorPlace> places = policy().places(whole, candidate);
    const bool nothing = whole.work.total() == 0 && whole.read + whole.written == Bytes(0);
    if (nothing) places.resize(1);
    const bool splits = !nothing && std::ranges::find(places, OperatorPlace::split) != places.end();
    Phases phases(splits && policy().recursive_kernels() ? kernels_of(op) : 1);
    std::vector<PlacedOperator> ways;
    for (const OperatorPlace place : places) {
      if (nothing)
        ways.push_back(phases.add({instant(), Joules(0)}, instant(), instant()));
      else if (place == OperatorPlace::split)
        ways.push_back(add_split(phases, op, whole));
      else
        ways.push_back(phases.add(phase(to_string(op.type), whole, place), instant(), awaited(op, place)));
      ways.back().option.place = place;
      ways.back().option.rest = policy().rest_of_split();
    }
    add_phases(v, op.name, phases, splits);
    plan_.ways.push_back(std::move(ways));
  }

  // Cores in the memory call the pairs for an image and prepare the next one meanwhile. A host does that for
  // one kernel after the other.
  PlacedOperator add_split(Phases& phases, const TrainingOperator& op, const TensorOperation& whole) {
    const std::string_view type = to_string(op.type);
    const double share = 1 / static_cast<double>(phases.kernels());
    const SplitOperation parts = split(share * whole);
    return phases.add_each(phase(type, parts.rest, policy().rest_of_split()),
                           phase(type, parts.middle, OperatorPlace::fixed_function),
                           awaited(op, OperatorPlace::split));
  }

  int add_operator(std::size_t v, std::string name, std::vector<Alternative> ways) {
    const int op = plan_.graph.add_operator(std::move(name), std::move(ways));
    plan_.vertex_of.resize(static_cast<std::size_t>(op) + 1, -1);
    plan_.vertex_of.back() = static_cast<int>(before_ + v);
    return op;
  }

  void wait_for(int op, int before) {
    if (plan_.graph.operators[static_cast<std::size_t>(op)].alternatives.size() > 1)
      plan_.graph.follow(op, before);
    else
      plan_.graph.add_edge(before, op);
  }

  // Phases that take no time anywhere are left out.
  void add_phases(std::size_t v, const std::string& name, const Phases& phases, bool splits) {
    const auto takes_time = [](const Alternative& way) { return way.portions[0].time > Seconds(0); };
    first_.push_back(static_cast<int>(plan_.graph.operators.size()));
    plan_.chooser.push_back(first_.back());
    int rest = -1, first_rest = -1;
    std::vector<int> middles;
    for (std::size_t k = 0; k < phases.kernels(); ++k) {
      if (splits) {
        const int next = add_operator(v, name + ":rest", phases.rest);
        // Behind the first and not one by one, so that the cores end an operator before they take up another.
        if (rest >= 0)
          wait_for(next, first_rest);
        else
          first_rest = next;
        rest = next;
      }
      const bool last = k + 1 == phases.kernels();
      middles.push_back(add_operator(v, name, last ? phases.last_middle : phases.middle));
      if (rest >= 0) wait_for(middles.back(), rest);
    }
    last_.push_back(middles.back());
    if (middles.size() == 1 && std::ranges::none_of(phases.after, takes_time)) return;
    last_.back() = add_operator(v, name + ":host", phases.after);
    wait_for(last_.back(), middles.back());
    for (std::size_t k = 0; k + 1 < middles.size(); ++k) plan_.graph.add_edge(middles[k], last_.back());
  }

  // Updates wait for them, and nothing else does, so that they go beside the rest of the backward pass.
  void add_all_reduces() {
    StepGraph& graph = plan_.graph;
    if (plan_.network < 0) plan_.network = unit("network");
    const auto op = Collective::all_reduce;
    for (const GradientBucket& bucket : gradient_buckets(training())) {
      const Seconds time = machine_.links->time(op, bucket.bytes, machine_.copies);
      const Bytes sent = machine_.links->sent(op, bucket.bytes, machine_.copies);
      const int reduce = graph.add_operator("all-reduce", {{plan_.network, {{0, time}}, {}}});
      for (const std::size_t v : bucket.makers) graph.add_edge(last_[v], reduce);
      for (const std::size_t v : bucket.readers) graph.add_edge(reduce, first_[v]);
      plan_.reduced.back() += sent;
      const DeviceSpec& sender = (machine_.gpu ? machine_.gpu : machine_.cpu)->spec();
      plan_.feeding.back() += sender.power.per_link_byte * sent;
    }
  }

  bool reads_fed(std::size_t v) const {
    return std::ranges::any_of(training().operators[v].reads, [&](int t) {
      return training().tensors[static_cast<std::size_t>(t)].kind == TensorKind::fed;
    });
  }

  // A step waits for all of the one before; so do operators for one another.
  void join_one_by_one() {
    StepGraph& graph = plan_.graph;
    for (std::size_t v = 1; v < first_.size(); ++v) graph.add_edge(last_[v - 1], first_[v]);
    if (feed_ >= 0) graph.add_edge(feed_, first_[0]);
    graph.add_edge(last_.back(), plan_.ends.back());
    graph.add_carry(plan_.ends.back(), feed_ >= 0 ? feed_ : first_[0]);
  }

  // A step starts nothing before the one before the last has ended.
  void join_as_steps_allow() {
    StepGraph& graph = plan_.graph;
    const int gate = add_instant("gate");
    graph.add_carry(plan_.ends.back(), gate);
    if (feed_ >= 0) graph.add_carry(gate, feed_);
    for (std::size_t v = 0; v < first_.size(); ++v) {
      if (boost::in_degree(v, training().operators) == 0) graph.add_carry(gate, first_[v]);
      if (boost::out_degree(v, training().operators) == 0) graph.add_edge(last_[v], plan_.ends.back());
      if (feed_ >= 0 && reads_fed(v)) graph.add_edge(feed_, first_[v]);
    }
    for (const auto edge : boost::make_iterator_range(boost::edges(training().operators)))
      graph.add_edge(last_[boost::source(edge, training().operators)],
                     first_[boost::target(edge, training().operators)]);
    for (const CarriedDependence& carried : training().carried)
      graph.add_carry(last_[carried.from], first_[carried.to]);
  }

  const TrainingMachine& machine_;
  std::map<OperatorPlace, Spot> spots_;
  const TrainedNet* net_ = nullptr;  // that is added, and its
  std::vector<int> first_, last_;    // operators, by vertex
  std::size_t before_ = 0;           // vertices of nets added before
  int feed_ = -1, gpu_link_ = -1;
  TrainingPlan plan_;
};

}  // namespace

TrainingPlan plan_training(const TrainingMachine& machine, std::span<const TrainedNet> nets) {
  Planner planner(machine);
  for (const TrainedNet& net : nets) planner.add(net);
  return planner.finish();
}

}  // namespace weir
