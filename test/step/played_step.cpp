#include "test/step/played_step.h"
#include "test/models/llm/parts.h"

#include "sim/step/stage_step.h"
#include "sim/studies/validation/kernels.h"
#include "test/policies/make_policy.h"
#include "test/step/timeline/random_step.h"

namespace weir::test {
namespace {

Operator named(const OperatorGraph& graph, const std::string& name) {
  for (const auto v : boost::make_iterator_range(boost::vertices(graph)))
    if (graph[v].name == name) return graph[v];
  throw std::out_of_range(name);
}

}  // namespace

Rank replica_on(const std::string& kind, const std::string& interconnect, const std::string& library) {
  Rank replica;
  replica.on = catalog_device(kind, {{"tdp_w", 1e9}});  // operators alone know no limit
  replica.links = find_interconnect(interconnect);
  replica.collectives = make_collectives(replica.links, library);
  const bool npu = replica.on->spec().units.front().name == "systolic";
  replica.partitioning = make_policy(partitioning_policies(), npu ? "npu_units" : "device_only");
  replica.prefetch = make_policy(prefetch_policies(), "none");
  replica.engine = {
      .kind = "test", .per_step = Seconds(1e-3), .per_sequence = Seconds(1e-5), .library = library};
  return replica;
}

StageGraph place(const Rank& replica, StageGraph stage) {
  const std::vector<Unit>& units = replica.on->spec().units;
  return replica.prefetch->add_prefetches(replica.partitioning->place(std::move(stage), units), units);
}

StageGraph two_branches(const StageGraph& stage, bool serial) {
  OperatorGraph block;
  const auto add = [&](const char* name, std::vector<std::size_t> after) {
    const auto vertex = boost::add_vertex(named(part(stage, "block"), name), block);
    for (const auto from : after) boost::add_edge(from, vertex, block);
    return vertex;
  };
  const auto norm = add("layernorm", {});
  const auto attention = add("attention", {add("qkv_proj", {norm})});
  const auto first = add("all_reduce", {add("o_proj", {attention})});
  const auto up = add("gate_up_proj", {serial ? first : norm});
  add("all_reduce", {add("down_proj", {add("act_fn", {up})})});
  StageGraph made = stage;
  part(made, "block") = block;
  return made;
}

RandomBatch::RandomBatch(std::mt19937_64& random) {
  const int kind = uniform_int(random, 0, 3);  // decodes; a prompt; a chunk of one; both
  for (int i = kind == 0 ? 0 : uniform_int(random, 1, 3); i > 0; --i) {
    chunks.push_back({uniform_int(random, 1, 2000), kind == 1 ? 0 : uniform_int(random, 0, 8000)});
    shape.prefill_tokens += chunks.back().tokens;
    shape.sequences += kind == 1;
  }
  for (int i = kind == 0 || kind == 3 ? uniform_int(random, 1, 200) : 0; i > 0; --i) {
    const std::int64_t context = uniform_int(random, 1, 6000);
    ++shape.decodes;
    ++shape.sequences;
    shape.decode_context_sum += context;
    shape.decode_context_max = std::max(shape.decode_context_max, context);
  }
  shape.prefill = chunks;
}

Played play(const Rank& replica, const StageGraph& placed, const BatchShape& batch, bool fold) {
  const DeviceSpec& spec = replica.on->spec();
  const StepGraph graph = stage_step({&placed, 1}, spec.units, spec.resources(replica.links.bandwidth)).graph;
  Timeline timeline(graph);
  std::vector<KernelCost> costs;
  for (const OperatorGraph* part : graphs_of(placed))
    for (const auto v : boost::make_iterator_range(boost::vertices(*part))) {
      costs.push_back(replica.cost((*part)[v], batch));
      set_cost(timeline, graph, static_cast<int>(costs.size()) - 1, costs.back());
    }
  Played played;
  std::vector<OperatorRecord> records;
  timeline.evaluate({.trace = &records});
  for (const OperatorRecord& record : records) {
    const KernelCost& cost = costs[static_cast<std::size_t>(record.op)];
    played.sum.flops += cost.flops;
    played.sum.moved[own_memory] += cost.moved[own_memory];
    played.sum.moved[interconnect] += cost.moved[interconnect];
    played.sum.energy += cost.energy;
  }
  played.result = timeline.evaluate({.fold = fold});
  return played;
}

void check_same(const StepCost& summed, const Played& played, Seconds host) {
  check_near(summed.time, played.result.total + host);
  check_near(summed.host_bound, host);
  check_near(summed.compute_bound + summed.memory_bound + summed.link_bound + summed.host_bound, summed.time);
  check_near(summed.flops, played.sum.flops);
  check_near(summed.moved[own_memory], played.sum.moved[own_memory]);
  check_near(summed.moved[interconnect], played.sum.moved[interconnect]);
  check_near(played.result.bytes[0], played.sum.moved[own_memory]);  // no kernel is faster than the memory
  check_near(summed.energy, played.sum.energy);
  for (std::size_t unit = 0; unit < played.result.busy.size(); ++unit)
    check_near(summed.busy[unit], played.result.busy[unit][0]);
}

}  // namespace weir::test
