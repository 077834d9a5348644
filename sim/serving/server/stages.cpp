#include "sim/serving/server/stages.h"

#include <fmt/format.h>

#include <set>

namespace weir {
namespace {

// The stream of prefetches only where there are any.
bool shown(const Unit& unit, const StepModel& model) {
  return !unit.runs(KernelKind::prefetch) || model.prefetches();
}

// A unit beside those of the other kernels.
bool attends_to_decodes(const Unit& unit) {
  return unit.runs(KernelKind::decode_attention) || unit.runs(KernelKind::attend);
}

DeviceUsage nothing_used_yet(const Scenario& scenario, const Rank& rank, const StageGraph& stage,
                             const StepModel& model, std::string name, std::size_t devices) {
  const DeviceSpec& device = rank.on->spec();
  DeviceUsage usage;
  usage.name = std::move(name);
  usage.kind = device.kind;
  usage.devices = static_cast<int>(devices);
  usage.peak = device.peak(scenario.precision.activations);
  usage.die_mm2 = device.notes.die_mm2;
  usage.kernels = device.notes.kernels;
  usage.profile = device.notes.profile;
  usage.analytic_layers = rank.analytic_layers(stage);
  usage.energy_note = device.power.note;
  if (const Memory* memory = rank.host_memory()) usage.host_memory = memory->name;
  usage.memory_bandwidth = device.own().bandwidth;
  usage.link_bandwidth = rank.links.bandwidth;
  for (std::size_t u = 0; u < device.units.size(); ++u)
    if (shown(device.units[u], model))
      usage.units.push_back({device.units[u].name, u, attends_to_decodes(device.units[u])});
  return usage;
}

// vLLM sends hidden states and residual, each rank its share (distributed/parallel_state.py,
// send_tensor_dict with all_gather_group).
Bytes activation_per_token(const Scenario& scenario, const ReplicaSpec& spec) {
  return Bytes(2 * static_cast<double>(scenario.model.hidden) *
               bytes_per_element(scenario.precision.hidden()) / spec.parallelism.tensor);
}

// The unit of a host's memory, whose time is that memory's share of a step; -1: there is none.
int attending_unit(const Rank& rank) {
  const auto& units = rank.on->spec().units;
  const auto found = std::ranges::find_if(units, attends_to_decodes);
  return rank.keeps_kv_in_host() && found != units.end() ? static_cast<int>(found - units.begin()) : -1;
}

std::unique_ptr<Lockstep> lockstep(const Scenario& scenario, const Rank& rank,
                                   const std::vector<DevicePlace>& places, const std::string& name,
                                   const Cluster& cluster) {
  std::vector<Lockstep::Device> devices;
  for (const DevicePlace& at : places) devices.push_back({cluster.device(at), cluster.availability(at)});
  std::set<int> nodes;
  for (const DevicePlace& at : places)
    if (attending_unit(rank) >= 0 && nodes.insert(at.node).second)
      devices.push_back({cluster.host_memory(at.node), cluster.memory_availability(at.node), true});
  return std::make_unique<Lockstep>(name, std::move(devices), !scenario.actor_a_device);
}

// Resources of a rank that are links of the cluster.
std::vector<std::pair<std::size_t, ClusterLink>> links_of(const Rank& rank) {
  std::vector<std::pair<std::size_t, ClusterLink>> links;
  const std::vector<Resource> resources = rank.on->spec().resources(rank.links.bandwidth);
  for (std::size_t r = 0; r < resources.size(); ++r)
    if (resources[r].link != ClusterLink::none) links.emplace_back(r, resources[r].link);
  return links;
}

}  // namespace

std::vector<Server::Stage> build_stages(const Scenario& scenario, const ReplicaPlan& replica,
                                        const ReplicaPlace& place, const std::string& replica_name,
                                        const Cluster& cluster, Recorder& recorder, StepModels& models) {
  std::vector<Server::Stage> stages;
  for (std::size_t s = 0; s < place.size(); ++s) {
    const int stage = static_cast<int>(s);
    auto& model = models[{&replica, stage}];
    const bool first_of_its_kind = !model;
    if (!model)
      model = std::make_shared<StepModel>(replica.rank, replica.stages[s], scenario.collective_flows);
    const std::string name = fmt::format("{} stage {}", replica_name, s);
    std::vector<simgrid::s4u::Host*> ranks, memories, dimms;
    for (const DevicePlace& at : place[s]) {
      ranks.push_back(cluster.device(at));
      memories.push_back(cluster.node(at.node));
      dimms.push_back(cluster.host_memory(at.node));
    }
    stages.push_back({.model = model,
                      .ranks = std::move(ranks),
                      .memories = std::move(memories),
                      .dimms = std::move(dimms),
                      .links = links_of(replica.rank),
                      .devices = lockstep(scenario, replica.rank, place[s], name, cluster),
                      .collectives = nullptr,
                      .beside = {},
                      .attending_unit = attending_unit(replica.rank),
                      .kv_per_token = kv_bytes_per_token(scenario, replica.spec, stage),
                      .device = recorder.add_device(nothing_used_yet(
                          scenario, replica.rank, replica.stages[s], *model, name, place[s].size())),
                      .track = recorder.add_track(name),
                      .unit_tracks = {},
                      .activation_per_token = activation_per_token(scenario, replica.spec)});
    if (recorder.wants_spans() && first_of_its_kind)
      for (const Unit& unit : replica.rank.on->spec().units)
        stages.back().unit_tracks.push_back(
            shown(unit, *model) ? recorder.add_track(fmt::format("{} {}", name, unit.name)) : -1);
  }
  return stages;
}

KvDevices kv_devices(const Server& server, std::int32_t request) {
  return {server.stages(), server.replica().rank_of(request), server.replica().all().size()};
}

std::vector<LinkFlow> handover_flows(const KvDevices& from, std::size_t stage, const KvDevices& to,
                                     std::span<const KvPart> parts, double tokens, bool with_request) {
  const auto host = [](const KvDevices& devices, int in_stage, int rank) {
    const auto s = static_cast<std::size_t>(in_stage);
    return devices.stages[s].ranks[devices.first(s) + static_cast<std::size_t>(rank)];
  };
  std::vector<LinkFlow> flows;
  for (const KvPart& part : parts) {
    if (static_cast<std::size_t>(part.from_stage) != stage) continue;
    const Bytes bytes = tokens * part.token + (with_request ? part.request : Bytes(0));
    if (bytes == Bytes(0)) continue;
    flows.push_back({host(from, part.from_stage, part.from_rank), host(to, part.to_stage, part.to_rank),
                     bytes, Seconds(0)});
  }
  return flows;
}

std::vector<LinkFlow> activation_flows(const Server::Stage& from, const Server::Stage& to,
                                       std::int64_t tokens) {
  std::vector<LinkFlow> flows;
  for (std::size_t i = 0; i < from.ranks.size(); ++i)
    flows.push_back(
        {from.ranks[i], to.ranks[i], static_cast<double>(tokens) * from.activation_per_token, Seconds(0)});
  return flows;
}

std::vector<LinkFlow> step_flows(const Server::Stage& stage, const StepCost& cost) {
  std::vector<LinkFlow> flows;
  for (const auto& [resource, link] : stage.links)
    for (std::size_t i = 0; i < stage.ranks.size(); ++i) {
      LinkFlow flow{stage.ranks[i], stage.memories[i], cost.moved[resource], cost.time};
      if (link == ClusterLink::from_host) std::swap(flow.from, flow.to);
      if (link == ClusterLink::host_memory) flow = {stage.memories[i], stage.dimms[i], flow.bytes, cost.time};
      flows.push_back(flow);
    }
  return flows;
}

std::vector<LinkFlow> host_flows(const KvDevices& devices, std::int64_t tokens, bool out) {
  std::vector<LinkFlow> flows;
  for (std::size_t s = 0; s < devices.stages.size(); ++s) {
    const Server::Stage& stage = devices.stages[s];
    const std::size_t first = devices.first(s);
    for (std::size_t i = first; i < first + devices.in_stage(s); ++i) {
      LinkFlow flow{stage.ranks[i], stage.memories[i], static_cast<double>(tokens) * stage.kv_per_token,
                    Seconds(0)};
      if (!out) std::swap(flow.from, flow.to);
      flows.push_back(flow);
    }
  }
  return flows;
}

}  // namespace weir
