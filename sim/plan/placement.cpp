#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "sim/core/catalog_row.h"
#include "sim/plan/neurons/neuron_plan.h"
#include "sim/plan/scenario_parts.h"
#include "sim/step/step_model.h"

namespace weir {
namespace {

class Placer {
 public:
  Placer(const Scenario& scenario, Reading& reading)
      : s_(scenario), reading_(reading), slots_(slots_of(scenario.nodes)) {}

  void place(ReplicaPlan& replica, const std::string& pointer) {
    const ReplicaSpec& spec = replica.spec;
    const Sharding& cut = spec.parallelism;
    const std::vector<std::string> problems = sharding_problems(s_.model, cut);
    for (const std::string& problem : problems) reading_.problem(pointer + "/parallelism", problem);
    if (!problems.empty() || !can_be_drafted(spec, pointer) || !spec.batching || !spec.partitioning ||
        !spec.placement || !spec.prefetch)
      return;
    if (const auto kinds = device_kinds(); spec.device && !kinds.contains(*spec.device))
      return reading_.problem(pointer + "/device",
                              no_such("device in the cluster", *spec.device, {kinds.begin(), kinds.end()}));
    const auto per_replica = static_cast<std::size_t>(cut.ranks()) * static_cast<std::size_t>(cut.pipeline);
    std::vector<Slot*> first;
    for (int i = 0; i < spec.count; ++i) {
      const std::vector<Slot*> devices = find_devices(slots_, spec.device, per_replica);
      if (devices.empty()) {
        const std::size_t left = free_devices(spec.device);
        reading_.problem(
            pointer,
            fmt::format("no room for replica {} of {}: it needs {} {} (tensor {}{} x "
                        "pipeline {}), the cluster has {} left{}",
                        i + 1, spec.count, per_replica, spec.device.value_or("devices of one kind"),
                        cut.tensor,
                        cut.attention_data > 1 ? fmt::format(" x attention_data {}", cut.attention_data) : "",
                        cut.pipeline, left,
                        left < per_replica ? "" : ", and no entry of nodes as many that are alike"));
        return;
      }
      if (first.empty()) first = devices;
      const ReplicaPlace place = place_on(devices, cut);
      std::string what = differs(first, devices);
      if (what.empty() && i > 0 && spread_of(place) != spread_of(replica.places[0]))
        what = "other shares of nodes";
      if (!what.empty()) {
        reading_.problem(pointer,
                         fmt::format("replica {} of {} would have {} than the first: give it an entry of its "
                                     "own in replicas, with \"device\" where kinds differ",
                                     i + 1, spec.count, what));
        return;
      }
      for (Slot* slot : devices) slot->taken = true;
      if (i == 0) {
        replica.rank = rank_on(*devices[0], place, spec);
        if (const std::string why = take_exchanges(spec.parallelism, replica.rank); !why.empty())
          return reading_.problem(pointer + "/communication", why);
      }
      replica.places.push_back(place);
    }
    if (!join_host_memory(replica, *first[0]->node, pointer)) return;
    fit(replica, pointer);
  }

  std::size_t free_devices(const std::optional<std::string>& kind) const {
    return static_cast<std::size_t>(std::count_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
      return !slot.taken && (!kind || slot.group->device->spec().kind == *kind);
    }));
  }

 private:
  bool can_be_drafted(const ReplicaSpec& spec, const std::string& pointer) {
    if (!spec.speculative) return true;
    const auto problems = drafting_problems(spec.speculative->drafting, spec.parallelism);
    for (const std::string& problem : problems) reading_.problem(pointer + "/speculative/model", problem);
    return problems.empty();
  }

  std::set<std::string> device_kinds() const {
    std::set<std::string> kinds;
    for (const Slot& slot : slots_) kinds.insert(slot.group->device->spec().kind);
    return kinds;
  }

  // The replicas of a group are simulated with one model of their steps, so that their machines must be
  // alike.
  std::string differs(const std::vector<Slot*>& first, const std::vector<Slot*>& other) const {
    const auto device = [&](const Slot* slot) {
      Json json = reading_.resolved[slot->described];
      json.erase("count");
      return json;
    };
    if (first[0]->group != other[0]->group && device(first[0]) != device(other[0])) return "other devices";
    if (first[0]->node->interconnect != other[0]->node->interconnect) return "another interconnect";
    if (first[0]->node->host_memory != other[0]->node->host_memory) return "another host memory";
    return "";
  }

  static ReplicaPlace place_on(const std::vector<Slot*>& devices, const Sharding& cut) {
    const auto ranks = static_cast<std::size_t>(cut.ranks());
    ReplicaPlace place(static_cast<std::size_t>(cut.pipeline));
    for (std::size_t i = 0; i < devices.size(); ++i) place[i / ranks].push_back(devices[i]->place);
    return place;
  }

  Rank rank_on(const Slot& slot, const ReplicaPlace& place, const ReplicaSpec& spec) const {
    const std::string library = s_.collective_flows ? "" : spec.engine.collectives;
    const Rank::Group tensor =
        group_of(tensor_groups(place, spec.parallelism), *slot.node, s_.network, library);
    const std::shared_ptr<const Device>& any = slot.group->device;
    const std::shared_ptr<const Device> own = any->with_library(spec.engine.library);
    return {
        .on = calibrated(own ? own : any, spec.calibration),
        .kv_memories = kv_memories_of(any->spec()),
        .links = tensor.links,
        .levels = tensor.levels,
        .collectives = tensor.collectives,
        .stage = group_of(place, *slot.node, s_.network, library),
        .partitioning = spec.partitioning,
        .placement = spec.placement,
        .prefetch = spec.prefetch,
        .engine = spec.engine.on(spec.parallelism.tensor * spec.parallelism.pipeline),
        .alternations = spec.two_batches ? std::optional(alternations_of(spec.engine.kind)) : std::nullopt};
  }

  bool join_host_memory(ReplicaPlan& replica, const NodeSpec& node, const std::string& pointer) {
    const HostMemoryUse use = replica.spec.partitioning->host_memory();
    if (!use.any() || !node.host_memory) return true;
    const int sharers = node.device_count();
    if (const std::string why = node.host_memory->cannot_share(sharers); !why.empty()) {
      reading_.problem(pointer + "/partitioning", node.host_memory->spec().kind + ": " + why);
      return false;
    }
    Rank& rank = replica.rank;
    rank.on = node.host_memory->beside(rank.on, sharers,
                                       use.kv_caches ? Memory::KeptFor::kv_caches : Memory::KeptFor::weights);
    rank.kv_memories = kv_memories_of(rank.on->spec(), use.spare);
    return true;
  }

  // Places one stage, or says why it cannot run.
  bool place_stage(ReplicaPlan& replica, int number, const std::string& pointer) {
    const Rank& rank = replica.rank;
    const char* policy = "/partitioning";
    try {
      const Sharding& cut = replica.spec.parallelism;
      StageGraph stage = build_stage(s_.model, s_.precision, cut, number);
      if (replica.spec.speculative && number == cut.pipeline - 1)
        append_drafts(stage, replica.spec.speculative->drafting, s_.model, s_.precision, cut);
      const Bytes padding = padding_bytes(stage, rank.on->spec().expert_padding);
      stage.weights.all += padding;
      stage.weights.on_device += padding;
      stage = partitioned(std::move(stage), rank);
      policy = "/prefetch";
      replica.stages.push_back(with_prefetches(std::move(stage), rank));
    } catch (const UnfitKey& refused) {
      reading_.problem(pointer + policy + "/" + refused.key, refused.what());
      return false;
    } catch (const std::invalid_argument& refused) {
      reading_.problem(pointer + policy, refused.what());
      return false;
    }
    const std::string why = rank.cannot_run(replica.stages.back());
    if (!why.empty()) reading_.problem(pointer, why);
    return why.empty();
  }

  bool place_stages(ReplicaPlan& replica, const std::string& pointer) {
    if (replica.spec.prefetch->of_one_batch() && replica.spec.interleaves()) {
      reading_.problem(pointer + "/prefetch",
                       "chooses for one batch a step, and is no bound where a step interleaves two");
      return false;
    }
    for (int stage = 0; stage < replica.spec.parallelism.pipeline; ++stage)
      if (!place_stage(replica, stage, pointer)) return false;
    return true;
  }

  // Flows come after the kernels of a step.
  bool overlaps(const ReplicaPlan& replica) const {
    return replica.spec.interleaves() || !StepModel(replica.rank, replica.stages[0], false).serial();
  }

  void fit(ReplicaPlan& replica, const std::string& pointer) {
    const LinkSpec& links = replica.rank.links;
    const Rank::Group& stage = replica.rank.stage;
    const int together = stage.levels ? stage.levels->per_node : replica.spec.parallelism.ranks();
    if (together > 1 && links.bandwidth <= BytesPerSecond(0)) {
      reading_.problem(pointer + "/parallelism/tensor",
                       "the node has no interconnect between its devices (cluster "
                       "nodes interconnect is \"none\")");
      return;
    }
    if (!place_stages(replica, pointer)) return;
    check_drafts(s_, replica, pointer, reading_);
    check_lockstep(replica, s_.collective_flows, pointer, reading_);
    if (s_.collective_flows && links.latency_once)
      return reading_.problem(
          "/collectives", "cannot be \"flows\" over an interconnect whose latency a collective pays once");
    if (s_.collective_flows && overlaps(replica))
      return reading_.problem("/collectives",
                              "cannot be \"flows\" where operators overlap, as those of " + pointer + " do");
    fit_kv_cache(s_, replica, pointer, reading_);
    fit_kv_tiers(s_, replica, pointer, reading_);
    if (replica.spec.partitioning->neurons()) plan_its_neurons(replica, pointer);
  }

  // Active neurons are followed a token at a time, one stage and one batch.
  void plan_its_neurons(ReplicaPlan& replica, const std::string& pointer) {
    const ReplicaSpec& spec = replica.spec;
    bool alone = true;
    const auto refuse = [&](const char* key, const char* why) {
      reading_.problem(pointer + key, why);
      alone = false;
    };
    if (spec.parallelism.pipeline > 1)
      refuse("/parallelism/pipeline", "cannot be above 1 where active neurons are followed");
    if (spec.batching->interleaves() || spec.batching->predictor() != Predictor::none)
      refuse("/batching",
             "cannot split batches, nor ask for times of steps, where active neurons are followed");
    if (!alone) return;
    try {
      gather(reading_, "/workload/activity", [&] {
        replica.neurons =
            plan_neurons(s_.model, replica.rank, replica.stages[0], s_.workload.activity.get(), s_.seed);
      });
      note_followed_layers(replica, pointer);
    } catch (const UnfitKey& refused) {
      reading_.problem(pointer + "/partitioning/" + refused.key, refused.what());
    } catch (const std::invalid_argument& refused) {
      // Where weights have no room at all, that was said.
      if (!reading_.failed()) reading_.misfit(pointer + "/partitioning", refused.what());
    }
  }

  void note_followed_layers(const ReplicaPlan& replica, const std::string& pointer) {
    if (!replica.neurons || replica.neurons->counts.layers == replica.neurons->layers) return;
    const std::int64_t followed = replica.neurons->counts.layers;
    reading_.note(fmt::format(
        "{}/partitioning/followed_layers: {} of {} layers stand for all; with {} layers mean TPOT of shipped "
        "scenarios was off by {} % (docs/activity.md)",
        pointer, followed, replica.neurons->layers, followed >= 8 ? "eight" : "two",
        followed >= 8 ? "0 to 4" : "8 to 16"));
  }

  const Scenario& s_;
  Reading& reading_;
  std::vector<Slot> slots_;
};

}  // namespace

void place_replicas(Plan& plan, Reading& reading) {
  Scenario& scenario = plan.scenario;
  Placer placer(scenario, reading);
  for (const ReplicaSpec& spec : scenario.replicas) {
    ReplicaPlan& replica = plan.replicas.emplace_back();
    replica.spec = spec;
    replica.seed = scenario.seed;
    placer.place(replica, fmt::format("/serving/replicas/{}", plan.replicas.size() - 1));
  }
  if (reading.failed()) return;  // and replicas may have no device
  const bool used = std::ranges::any_of(
      plan.replicas, [](const ReplicaPlan& replica) { return replica.rank.host_memory() != nullptr; });
  const bool host_memory =
      std::ranges::any_of(scenario.nodes, [](const NodeSpec& node) { return node.host_memory != nullptr; });
  if (host_memory && !used)
    scenario.notes.push_back(
        fmt::format("the host memory among the devices holds no KV cache (\"partitioning\": {{\"kind\": "
                    "\"{}\"}} puts it there) and no weights ({}); it is neither powered nor paid for",
                    partitioning_into_host_memory(&HostMemoryUse::kv_caches),
                    partitioning_into_host_memory(&HostMemoryUse::weights)));
  if (const std::size_t idle = placer.free_devices({}); idle > 0 && scenario.training.empty())
    scenario.notes.push_back(fmt::format(
        "{} devices of the cluster serve no replica; they are neither powered nor paid for", idle));
}

}  // namespace weir
