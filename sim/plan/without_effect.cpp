// Notes on what a scenario asks for in vain. By values, never by whether a key is there: a resolved scenario,
// which has every default, gets the same ones.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/plan/scenario_parts.h"
#include "sim/step/step_model.h"

namespace weir {
namespace {

class Notes {
 public:
  Notes(const Plan& plan, Reading& reading) : plan_(plan), s_(plan.scenario), reading_(reading) {}

  void tell() {
    for (std::size_t i = 0; i < plan_.replicas.size(); ++i)
      of_replica(plan_.replicas[i], fmt::format("/serving/replicas/{}", i));
    if (!plan_.training.empty()) training();
    network();
    assumptions();
    context();
    activity();
    if (s_.routing) routing(s_.routing->needs());
  }

 private:
  void note(const std::string& pointer, const std::string& what) {
    reading_.note(fmt::format("{}: {}", pointer, what));
  }

  void routing(const RoutingNeeds& needs) {
    if (needs.sessions && !s_.workload.sessions)
      note("/serving/routing", "no request has a session: each goes where the fewest requests are");
    if ((needs.reports || needs.remembered_tokens) && !s_.workload.contents.shared())
      note("/serving/routing", "no prompt begins as an earlier one does: loads alone say where each goes");
  }

  void activity() {
    const bool asked_for = std::ranges::any_of(
        plan_.replicas, [](const ReplicaPlan& replica) { return replica.neurons != nullptr; });
    if (s_.workload.activity && !asked_for)
      note("/workload/activity", "is not used: nothing here asks which neurons are active");
  }

  Json given(const std::string& pointer) const {
    return reading_.resolved.value(Json::json_pointer(pointer), Json());
  }

  void of_replica(const ReplicaPlan& replica, const std::string& at) {
    const ReplicaSpec& spec = replica.spec;
    const std::string placement = given(at + "/placement/kind").get<std::string>();
    if (placement != default_of(placement_policies()) && replica.rank.placed_channels() == 1)
      note(at + "/placement", fmt::format("{} changes nothing: {} has all KV caches in one place", placement,
                                          replica.rank.kv_memory().name));
    if (spec.parallelism.tensor == 1) of_one_rank(replica, at);
    const Sharding& cut = spec.parallelism;
    if (cut.experts.distribution != ExpertDistribution::uniform &&
        (cut.expert == 1 || s_.model.most_experts() == 0))
      note(at + "/experts/distribution",
           "changes nothing: no ranks hold different experts (parallelism.expert)");
    if (s_.collective_flows) of_flows(replica);
    of_kv_cache(spec, at + "/kv_cache");
    if (s_.workload.contents.shared()) of_shared_prefixes(spec, at);
    if (replica.neurons && !s_.workload.activity)
      note(at + "/partitioning",
           "every token activates every neuron, as nothing is said of workload.activity: none is predicted, "
           "swapped or moved");
    if (spec.kv_cache.handover != KvCacheSpec().handover && spec.role != Role::prefill)
      note(at + "/kv_cache/handover", "is not used: with \"role\": \"prefill\" it would be");
    analytic_layers(replica, at);
    if (const std::string why = unused_reach(spec.calibration, *replica.rank.on); !why.empty())
      note(at + "/engine/calibration", "memory_efficiency and compute_efficiency are not used: " + why);
    const DeviceNotes& device = replica.rank.on->spec().notes;
    const std::string& library = spec.engine.library;
    if (!library.empty() && !device.kernel_library.empty() && library != device.kernel_library)
      note(at + "/engine", fmt::format("kernels of {} were not measured on this device: those of {} stand in "
                                       "for them ({})",
                                       library, device.kernel_library, device.kernels));
    if (device.profile && !spec.engine.kind.starts_with(device.profile->engine))
      note(at + "/engine", fmt::format("the device's profile was measured with {}, and this engine is {}",
                                       shortened(device.profile->engine, 40), spec.engine.kind));
    std::set<std::string> told;
    for (const StageGraph& stage : replica.stages)
      if (const std::string what = replica.rank.stand_ins(stage); !what.empty() && told.insert(what).second)
        note(at + "/engine",
             fmt::format("kernels that nobody measured under {} on this device ({}): {} stand in",
                         device.kernel_library, device.kernels, what));
  }

  // Messages of the plain algorithms know none of what an engine's collectives were measured to take.
  void of_flows(const ReplicaPlan& replica) {
    const Rank& rank = replica.rank;
    const Sharding& cut = replica.spec.parallelism;
    const std::string& library = replica.spec.engine.collectives;
    const Bytes state(static_cast<double>(s_.model.hidden) * bytes_per_element(s_.precision.hidden()));
    const auto tell = [&](Collective collective, const char* name, const LinkSpec& links,
                          const std::optional<NodeLevels>& levels, int ranks) {
      if (ranks == 1) return;
      const auto time = [&](const std::string& of) {
        const auto model =
            levels ? make_collectives_by_level(links, of, *levels) : make_collectives(links, of);
        return 1e6 * model->time(collective, 64 * state, ranks).value();
      };
      if (time(library) != time(""))
        note("/collectives",
             fmt::format("\"flows\" plays plain algorithms message by message, not the "
                         "collectives that were measured of {}: {} of 64 tokens over {} ranks "
                         "takes {:.3g} us alone, with \"closed_form\" {:.3g}",
                         library, name, ranks, time(""), time(library)));
    };
    tell(Collective::all_reduce, "an all-reduce", rank.links, rank.levels, cut.tensor);
    if (cut.attention_data > 1)
      tell(Collective::all_gather, "an all-gather", rank.stage.links, rank.stage.levels, cut.ranks());
  }

  void analytic_layers(const ReplicaPlan& replica, const std::string& at) {
    std::vector<std::string> names;
    for (const StageGraph& stage : replica.stages)
      for (const std::string& name : replica.rank.analytic_layers(stage))
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    if (!names.empty())
      note(at, fmt::format("the profile's tables lack {}: they cost as on the device without a profile",
                           fmt::join(names, ", ")));
  }

  void of_kv_cache(const ReplicaSpec& spec, const std::string& at) {
    const KvCacheSpec& cache = spec.kv_cache;
    const KvCacheSpec usual;
    if (cache.memory_fraction != usual.memory_fraction && (cache.blocks || cache.free_memory_fraction))
      note(at + "/memory_fraction",
           fmt::format("{} is not used: {} says how large the cache is", cache.memory_fraction,
                       cache.blocks ? "blocks" : "free_memory_fraction"));
    if (cache.swap_space != usual.swap_space && cache.preemption != Preemption::swap)
      note(at + "/swap_space_gib", "is not used: with \"preemption\": \"swap\" it would be");
    if (cache.tiers.empty()) return;
    if (spec.role == Role::decode)
      note(at + "/tiers", "are not used: prompts are computed on other replicas");
    else if (spec.batching->moves_kv_caches())
      note(at + "/tiers", "are not used: the batching moves KV caches between memories");
    else if (!s_.workload.contents.shared())
      note(at + "/tiers", "no two prompts begin alike: only preempted requests find anything there");
    else if (s_.routing->needs().reports)
      note("/serving/routing",
           "replicas do not tell what their tiers keep: what KV caches hold alone counts");
  }

  void of_shared_prefixes(const ReplicaSpec& spec, const std::string& at) {
    const auto computed_whole = [&](const char* key, const char* why) {
      note(at + key, fmt::format("prompts that begin alike are computed whole: {}", why));
    };
    if (spec.kv_cache.prefix_caching != PrefixCaching::shared)
      computed_whole("/kv_cache/prefix_caching", "with true they would be found");
    else if (spec.batching->moves_kv_caches())
      computed_whole("/batching", "it moves KV caches between memories, which requests do not share then");
    else if (!spec.shares_prefixes())
      note(at + "/kv_cache/preemption",
           "every KV cache is sent here whole, what is here of its beginning as well: with \"recompute\" it "
           "would not be");
  }

  // Nothing is added up over ranks, so that there is nothing to hide.
  void of_one_rank(const ReplicaPlan& replica, const std::string& at) {
    const std::string prefetch = given(at + "/prefetch/kind").get<std::string>();
    if (prefetch != default_of(prefetch_policies()))
      note(at + "/prefetch",
           fmt::format("{} fetches nothing: with tensor 1 there is no all-reduce to do it under", prefetch));
    const Json chunks = given(at + "/partitioning/fused_all_reduce_chunks");
    if (chunks.is_number() && chunks > 1)
      note(at + "/partitioning/fused_all_reduce_chunks",
           fmt::format("{} changes nothing: with tensor 1 there is no all-reduce to fuse", chunks.dump()));
    if (replica.spec.interleaves() && one_unit(replica.stages[0]))
      note(at + "/batching",
           fmt::format("two sub-batches take turns on {}, whose operators all run on one unit: nothing "
                       "overlaps",
                       replica.rank.on->spec().kind));
  }

  static bool one_unit(const StageGraph& stage) {
    std::set<int> units;
    for_each_operator(stage, [&](const Operator& op, double) { units.insert(op.unit); });
    return units.size() <= 1;
  }

  void training() {
    std::set<std::pair<int, int>> taken;
    const auto take = [&](const std::vector<DevicePlace>& places) {
      for (const DevicePlace& at : places) taken.emplace(at.node, at.slot);
    };
    for (const ReplicaPlan& replica : plan_.replicas)
      for (const ReplicaPlace& place : replica.places) std::ranges::for_each(place, take);
    bool copies = false;
    for (std::size_t i = 0; i < plan_.training.size(); ++i) {
      const TrainingJob& job = plan_.training[i];
      of_job(job, fmt::format("/training/{}", i));
      std::ranges::for_each(job.places, take);
      copies = copies || job.places.size() > 1;
    }
    idle_devices(taken);
    if (s_.serves()) return;
    for (std::size_t n = 0; n < s_.nodes.size(); ++n) {
      const NodeSpec& node = s_.nodes[n];
      const std::string at = fmt::format("/cluster/nodes/{}/", n);
      if (node.host_memory)
        note(at + "devices", node.host_memory->spec().kind + " is not used: no job trains on it");
      if (node.interconnect.bandwidth > BytesPerSecond(0) && !copies)
        note(at + "interconnect", "is not used: no job has two devices that it joins");
    }
    if (s_.seed != Scenario::usual_seed) note("/seed", "changes nothing: training draws nothing at random");
  }

  void idle_devices(const std::set<std::pair<int, int>>& taken) {
    struct Use {
      int used = 0, there = 0;
    };
    std::map<std::string, std::pair<std::string, Use>> groups;
    for (const Slot& slot : slots_of(s_.nodes)) {
      auto& [kind, use] = groups[slot.described.to_string()];
      kind = slot.group->device->spec().kind;
      ++use.there;
      use.used += taken.contains({slot.place.node, slot.place.slot});
    }
    const char* nobody = s_.serves() ? "nothing serves or trains on it" : "no job trains on it";
    for (const auto& [at, group] : groups) {
      const auto& [kind, use] = group;
      if (use.used == 0)
        note(at, fmt::format("{} is not used: {}", kind, nobody));
      else if (use.used < use.there)
        note(at, fmt::format("{} of {} {} are not used", use.there - use.used, use.there, kind));
    }
  }

  void of_job(const TrainingJob& job, const std::string& at) {
    const RuntimeUnits needs = job.spec.runtime->needs();
    const TrainingMachine& machine = job.machine;
    const bool in_memory = machine.memory && (needs.programmable || needs.fixed_function);
    const auto no_memory = [&](const char* key, double value) {
      note(at + key, fmt::format("{} changes nothing: the job has nothing computed in memory", value));
    };
    if (job.spec.clock_multiple != 1 && !in_memory) no_memory("/clock_multiple", job.spec.clock_multiple);
    if (job.spec.host_waiting > Watts(0) && !in_memory)
      no_memory("/host_waiting_w", job.spec.host_waiting.value());
    std::vector<std::shared_ptr<const Device>> idle = {machine.gpu};
    if (needs.gpu) idle = {machine.cpu, machine.memory};
    for (const auto& device : idle)
      if (device)
        note(at + "/devices",
             fmt::format("{} idles, and counts in energy and cost: the runtime places nothing "
                         "on it",
                         device->spec().kind));
  }

  void network() {
    int nodes = 0;
    for (const NodeSpec& node : s_.nodes) nodes += node.count;
    if (nodes > 1) return;
    Reading nothing("");
    const Json none = Json::object();
    const NetworkSpec usual = read_network(Params(nothing, none), s_.nodes);
    if (s_.network.topology != usual.topology || s_.network.link_bandwidth != usual.link_bandwidth ||
        s_.network.link_latency != usual.link_latency || s_.network.links_per_node)
      note("/cluster/network", "is not used: it joins nodes, and there is one");
  }

  void assumptions() {
    if (s_.assumptions == "physical") return;
    for (const NodeSpec& node : s_.nodes) {
      if (node.host_memory && node.host_memory->spec().notes.assumed) return;
      for (const DeviceGroup& group : node.devices)
        if (group.device->spec().notes.assumed) return;
    }
    note("/assumptions",
         fmt::format("\"{}\" changes nothing: no device of the cluster has such a set of constants",
                     s_.assumptions));
  }

  void context() {
    const BeyondContext beyond = beyond_context(s_);
    if (beyond.requests > 0)
      reading_.note(fmt::format(
          "{} of {} requests are longer than the {} tokens that {} was made for (the longest has {}); they "
          "run "
          "all the same: max_model_len rejects them",
          beyond.requests, s_.workload.requests.size(), s_.model.positions, s_.model.name, beyond.longest));
  }

  const Plan& plan_;
  const Scenario& s_;
  Reading& reading_;
};

}  // namespace

BeyondContext beyond_context(const Scenario& s) {
  BeyondContext beyond;
  std::int64_t allowed = 0;  // by the most generous replica
  for (const ReplicaSpec& spec : s.replicas)
    allowed = std::max(allowed, spec.max_model_len.value_or(std::numeric_limits<std::int64_t>::max()));
  if (s.model.positions == 0 || allowed <= s.model.positions) return beyond;
  for (const Request& r : s.workload.requests) {
    const std::int64_t tokens = r.input_tokens + r.output_tokens;
    if (tokens <= s.model.positions || tokens > allowed) continue;
    ++beyond.requests;
    beyond.longest = std::max(beyond.longest, tokens);
  }
  return beyond;
}

void note_what_has_no_effect(const Plan& plan, Reading& reading) {
  Notes(plan, reading).tell();
}

}  // namespace weir
