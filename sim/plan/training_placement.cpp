// Puts training jobs on devices: a copy has what computes in memory, a GPU and a CPU of one node, whichever
// the job names or the node has to spare. No two jobs, nor a job and a replica, have one device.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

// A training step sees every device as one of these.
enum class Part { cpu, gpu, memory, none };
Part part_of(const Device& device) {
  const std::vector<Unit>& units = device.spec().units;
  const int unit = unit_running(units, multiply_add_kind);
  if (unit < 0) return Part::none;
  if (std::ranges::any_of(units, [](const Unit& one) { return one.amount > 0; })) return Part::memory;
  return device.spec().runs_models() ? Part::gpu : Part::cpu;
}

struct Machine {  // a copy's devices, in one node
  std::shared_ptr<const Device> cpu, gpu, memory;
  std::vector<const Slot*> slots;

  std::shared_ptr<const Device>& place_of(Part part) {
    return part == Part::cpu ? cpu : part == Part::gpu ? gpu : memory;
  }
};

class Placement {
 public:
  Placement(const Plan& plan, Reading& reading)
      : network_(plan.scenario.network), reading_(reading), slots_(slots_of(plan.scenario.nodes)) {
    owners_.resize(slots_.size());
    for (const ReplicaPlan& replica : plan.replicas)
      for (const ReplicaPlace& place : replica.places)
        for (const auto& stage : place)
          for (const DevicePlace& at : stage) take(at, "a replica");
  }

  // False where nobody knows what the job would run on.
  bool put(TrainingJob& job, const std::string& pointer) {
    const std::string at = pointer + "/devices";
    const std::vector<std::string> kinds = job.spec.devices ? *job.spec.devices : kinds_to_spare();
    const std::string owner = fmt::format("/training/{}", jobs_++);
    if (!can_be(kinds, job.spec.devices.has_value(), at)) return false;
    const NodeSpec* node = nullptr;
    const int only = job.spec.data_parallel > 1 ? node_with_room(kinds, job.spec.data_parallel) : -1;
    for (int copy = 0; copy < job.spec.data_parallel; ++copy) {
      const std::optional<Machine> found = find(kinds, true, only);
      if (!found) {
        reading_.problem(at, none_left(kinds, copy, job.spec.data_parallel));
        if (copy == 0) use(job, any(kinds));  // what else is wrong with the job is told too
        return true;
      }
      for (const Slot* slot : found->slots) take(slot->place, owner), check_availability(*slot);
      if (copy == 0) use(job, *found), node = found->slots.front()->node;
      job.places.push_back(places_of(*found));
      for (const Slot* slot : found->slots)
        job.dollars_per_hour += slot->group->device->spec().dollars_per_hour;
    }
    if (job.spec.data_parallel > 1) link(job, *node, pointer);
    return true;
  }

 private:
  void take(DevicePlace at, const std::string& owner) {
    const auto slot = std::ranges::lower_bound(slots_, std::pair(at.node, at.slot), {}, [](const Slot& one) {
      return std::pair(one.place.node, one.place.slot);
    });
    slot->taken = true;
    owners_[static_cast<std::size_t>(slot - slots_.begin())] = owner;
  }

  std::vector<std::string> kinds_to_spare() const {
    std::vector<std::string> kinds;
    int node = -1;
    for (const Slot& slot : slots_) {
      if (slot.taken || part_of(*slot.group->device) == Part::none) continue;
      if (node >= 0 && slot.place.node != node) break;
      node = slot.place.node;
      const std::string& kind = slot.group->device->spec().kind;
      if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
    }
    if (!kinds.empty()) return kinds;
    for (const Slot& slot : slots_)  // taken, which will be told
      if (part_of(*slot.group->device) != Part::none && slot.place.node == slots_.front().place.node)
        kinds.push_back(slot.group->device->spec().kind);
    return kinds;
  }

  bool can_be(const std::vector<std::string>& kinds, bool named, const std::string& at) {
    bool right = true;
    const auto wrong = [&](const std::string& what) {
      reading_.problem(at, what);
      right = false;
    };
    if (kinds.empty()) wrong("no device of the cluster runs training operators");
    std::map<Part, std::string> of_part;
    for (const std::string& kind : kinds) {
      const auto slot =
          std::ranges::find(slots_, kind, [](const Slot& one) { return one.group->device->spec().kind; });
      if (slot == slots_.end()) {
        wrong("the cluster has no " + kind);
        continue;
      }
      const Part part = part_of(*slot->group->device);
      if (part == Part::none && named) wrong(kind + " runs no training operators");
      if (part != Part::none && !of_part.emplace(part, kind).second)
        wrong(fmt::format("a job has one CPU, one GPU and one memory that computes; {} is another", kind));
    }
    return right;
  }

  // The first one with as many of each to spare; -1: none has.
  int node_with_room(const std::vector<std::string>& kinds, int copies) const {
    std::map<int, std::map<std::string, int>> to_spare;
    for (const Slot& slot : slots_)
      if (!slot.taken) ++to_spare[slot.place.node][slot.group->device->spec().kind];
    for (auto& [node, count] : to_spare)
      if (std::ranges::all_of(
              kinds, [&spare = count, copies](const std::string& kind) { return spare[kind] >= copies; }))
        return node;
    return -1;
  }

  // Of the first node that has all of them to spare, or at all; of that node only, if there is one.
  std::optional<Machine> find(const std::vector<std::string>& kinds, bool to_spare = true,
                              int only = -1) const {
    Machine machine;
    int node = -1;
    for (const Slot& slot : slots_) {
      const std::shared_ptr<const Device>& device = slot.group->device;
      const Part part = part_of(*device);
      if (slot.place.node != node) machine = {}, node = slot.place.node;
      if (only >= 0 && node != only) continue;
      if ((slot.taken && to_spare) || part == Part::none || machine.place_of(part) ||
          std::ranges::find(kinds, device->spec().kind) == kinds.end())
        continue;
      machine.place_of(part) = device;
      machine.slots.push_back(&slot);
      if (machine.slots.size() == kinds.size()) return machine;
    }
    return {};
  }
  Machine any(const std::vector<std::string>& kinds) const { return find(kinds, false).value_or(Machine{}); }

  std::string none_left(const std::vector<std::string>& kinds, int copy, int copies) const {
    if (copies > 1)
      return fmt::format("no room for copy {} of {}: no node has {} to spare", copy + 1, copies,
                         fmt::join(kinds, " and "));
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (const std::string& kind = slots_[i].group->device->spec().kind;
          slots_[i].taken && std::ranges::find(kinds, kind) != kinds.end())
        return fmt::format("{} is a device of {} already", kind, owners_[i]);
    return fmt::format("no node has {} together", fmt::join(kinds, " and "));
  }

  static void use(TrainingJob& job, const Machine& machine) {
    job.machine.cpu = machine.cpu;
    job.machine.gpu = machine.gpu;
    job.machine.memory = machine.memory;
    job.machine.host_waiting = job.spec.host_waiting;
  }

  // The device that sends gradients first: a GPU, else a CPU.
  static std::vector<DevicePlace> places_of(const Machine& machine) {
    std::vector<DevicePlace> places;
    for (const auto& part : {machine.gpu, machine.cpu, machine.memory})
      for (const Slot* slot : machine.slots)
        if (part && slot->group->device == part) places.push_back(slot->place);
    return places;
  }

  void link(TrainingJob& job, const NodeSpec& node, const std::string& pointer) {
    ReplicaPlace senders(1);
    for (const std::vector<DevicePlace>& copy : job.places) senders[0].push_back(copy.front());
    const GroupLinks group = links_between(senders, node, network_);
    if (group.links.bandwidth <= BytesPerSecond(0) && (!group.levels || group.levels->per_node > 1))
      return reading_.problem(pointer + "/data_parallel",
                              "the node has no interconnect between its devices (cluster nodes "
                              "interconnect is \"none\")");
    job.links = group.links;
    job.levels = group.levels;
    job.machine.copies = job.spec.data_parallel;
    job.machine.links = group.levels ? make_collectives_by_level(group.links, "nccl", *group.levels)
                                     : make_collectives(group.links, "nccl");
  }

  // Times of steps are those of devices that are there throughout, at their own speed.
  void check_availability(const Slot& slot) {
    const Availability* availability = slot.group->availability_of(slot.number);
    if (!availability) return;
    const std::string at = slot.described.to_string();
    if (!availability->speed.empty() && told_.insert(at + "/speed_profile").second)
      reading_.problem(at + "/speed_profile", "training has none yet");
    if (!availability->state.empty() && told_.insert(at + "/state_profile").second)
      reading_.problem(at + "/state_profile", "training has none yet");
  }

  const NetworkSpec& network_;
  Reading& reading_;
  std::vector<Slot> slots_;
  std::vector<std::string> owners_;  // of slots that are taken
  std::set<std::string> told_;
  int jobs_ = 0;
};

void set_clock(TrainingJob& job, const std::string& pointer, Reading& reading) {
  if (!job.machine.memory || job.spec.clock_multiple == 1) return;
  if (auto clocked = job.machine.memory->at_clock(job.spec.clock_multiple))
    job.machine.memory = std::move(clocked);
  else
    reading.problem(pointer + "/clock_multiple",
                    "there is no clock to multiply in " + job.machine.memory->spec().kind);
}

void make_graph(TrainingJob& job, const std::string& pointer, Reading& reading) {
  const auto build = [&](const Net& net, std::int64_t batch, const std::string& at) {
    try {
      return build_training_graph(net, batch);
    } catch (const std::invalid_argument& wrong) {
      reading.problem(at, wrong.what());
      return TrainingGraph{};
    }
  };
  job.graph = build(job.spec.net, job.spec.batch, pointer + "/model");
  if (job.spec.beside)
    job.beside = build(job.spec.beside->net, job.spec.beside->batch, pointer + "/beside/model");
  if (!reading.failed()) check_training_room(job, pointer, reading);
  if (reading.failed()) return;
  try {
    job.first_steps(1);
  } catch (const std::invalid_argument& wrong) {
    reading.problem(pointer + "/runtime", wrong.what());
  }
}

void check_units(const TrainingJob& job, const std::string& pointer, Reading& reading) {
  const auto check = [&](const std::shared_ptr<const RuntimePolicy>& runtime, const std::string& at) {
    const std::string lacking = runtime ? lacks(job.machine, *runtime) : "";
    if (!lacking.empty()) reading.problem(at, lacking);
  };
  check(job.spec.runtime, pointer + "/runtime");
  if (!job.spec.beside) return;
  check(job.spec.beside->runtime, pointer + "/beside/runtime");
  if (job.spec.runtime && job.spec.runtime->profiles() && job.spec.steps < 2)
    reading.problem(pointer + "/steps",
                    "expected 2 or more: the first is profiled, and nothing goes beside it");
}

bool whole(const std::vector<NodeSpec>& nodes) {
  return !nodes.empty() && std::ranges::all_of(nodes, [](const NodeSpec& node) {
    return !node.devices.empty() && std::ranges::all_of(node.devices, [](const DeviceGroup& group) {
      return group.device != nullptr;
    });
  });
}

}  // namespace

// Where steps are fewer than the net's, those of the net beside it are as much fewer, rounded up.
TrainingStep TrainingJob::first_steps(std::int64_t count) const {
  if (!spec.beside) return {graph, machine, spec.runtime, count};
  const double share = static_cast<double>(count) / static_cast<double>(spec.steps);
  const auto steps = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(spec.beside->steps)));
  return {graph, machine, spec.runtime, count, TrainedNet{&*beside, spec.beside->runtime, steps}};
}

// Jobs are put on devices even where the scenario has mistakes elsewhere, so that all are told at once; what
// their steps hold is counted where there are none.
void place_training(Plan& plan, Reading& reading) {
  const std::vector<NodeSpec>& nodes = plan.scenario.nodes;
  if (!whole(nodes)) return;
  const bool right = !reading.failed();
  Placement placement(plan, reading);
  for (std::size_t i = 0; i < plan.scenario.training.size(); ++i) {
    const std::string pointer = fmt::format("/training/{}", i);
    TrainingJob job{plan.scenario.training[i]};
    if (job.spec.devices && job.spec.devices->empty()) continue;  // that was told
    const bool put = placement.put(job, pointer);
    set_clock(job, pointer, reading);
    if (put) check_units(job, pointer, reading);
    if (right) make_graph(job, pointer, reading);
    if (job.spec.runtime && job.spec.runtime->needs().gpu && job.machine.gpu)
      reading.note(fmt::format("{}: convolutions on {} are GEMMs with its GEMMs' efficiencies: an ESTIMATE",
                               pointer, job.machine.gpu->spec().kind));
    plan.training.push_back(std::move(job));
  }
}

}  // namespace weir
