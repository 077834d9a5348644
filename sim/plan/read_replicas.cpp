#include <limits>

#include "policies/partitioning/partitioning.h"
#include "policies/prefetch/prefetch.h"
#include "sim/plan/engine_catalog.h"
#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

Sharding read_parallelism(Params params) {
  Sharding sharding;
  const Range<std::int64_t> degree{1, 4096};
  sharding.tensor = static_cast<int>(params.integer({"tensor", "Ranks that share every layer."}, degree, 1));
  sharding.pipeline =
      static_cast<int>(params.integer({"pipeline", "Stages that share the layers."}, degree, 1));
  sharding.expert = static_cast<int>(params.integer({"expert",
                                                     "Groups of a stage's ranks that hold different experts; "
                                                     "each expert is cut over the ranks of its group. "
                                                     "Divides tensor x attention_data."},
                                                    degree, 1));
  sharding.attention_data =
      static_cast<int>(params.integer({"attention_data",
                                       "Tensor groups that have requests, KV caches and all but the experts "
                                       "each for itself, and step in lockstep "
                                       "(data-parallel attention); the batching policy's limits are of each. "
                                       "Experts are dealt out over all of their ranks."},
                                      degree, 1));
  sharding.pad_heads = params.flag(
      {"pad_heads",
       "Heads that do not divide over the tensor ranks, or are fewer, are padded with idle ones: every rank "
       "has its share of query heads and of KV heads, rounded up. A rank whose query heads belong to one "
       "group more than that would need another KV head. Otherwise such a cut is refused, as vLLM does."},
      false);
  params.close();
  return sharding;
}

PrefixCaching read_prefix_caching(Params& params) {
  static const std::vector<std::pair<Json, PrefixCaching>> meanings = {
      {true, PrefixCaching::shared}, {"own", PrefixCaching::own}, {false, PrefixCaching::none}};
  const Json* given = params.value(
      {"prefix_caching",
       "What was computed is found again in the blocks that nobody took meanwhile, block by block as in vLLM "
       "v1: true, by every request that begins alike; \"own\", by a preempted request alone; false, by "
       "none."},
      {{"enum", {true, "own", false}}}, Json(true));
  if (!given) return PrefixCaching::shared;
  for (const auto& [value, meaning] : meanings)
    if (*given == value) return meaning;
  params.fail("prefix_caching", fmt::format("expected true, \"own\" or false, got {}", given->dump()));
  return PrefixCaching::shared;
}

std::optional<PrefixIndex> read_prefix_index(Params& params) {
  const Choices<std::optional<PrefixIndex>> words = {
      {"engine", std::nullopt}, {"blocks", PrefixIndex::blocks}, {"radix_tree", PrefixIndex::radix_tree}};
  return params.choice({"prefix_index",
                        "How it is found: by full blocks' hashes, whose blocks go one by one (vLLM's), or by "
                        "a radix tree, whose leaves go "
                        "whole and whose answers come in when they end (SGLang's); engine: as that does it."},
                       words, "engine");
}

KvCacheSpec read_kv_cache(Params params) {
  KvCacheSpec cache;
  cache.block_tokens = params.integer({"block_tokens", "Tokens a block; vLLM's block_size."}, {1, 4096}, 16);
  cache.memory_fraction = params.number(
      {"memory_fraction",
       "vLLM's gpu_memory_utilization: of device memory, for weights, reserve and cache; under sglang its "
       "mem_fraction_static, for weights and cache."},
      fraction, 0.9);
  cache.free_memory_fraction = params.number_or_null(
      {"free_memory_fraction", "TensorRT-LLM's: of what weights leave; instead of memory_fraction."},
      fraction);
  cache.blocks = params.integer_or_null({"blocks", "Exact number of blocks; instead of the fractions."},
                                        {1, std::int64_t{1} << 40});
  if (cache.blocks && cache.free_memory_fraction)
    params.fail("blocks", "cannot stand beside free_memory_fraction, which is another way to say it");
  cache.admission = params.choice<Admission>(
      {"admission", "A waiting request joins when its next chunk, its prompt, or prompt and output fit."},
      {{"chunk", Admission::chunk}, {"prompt", Admission::prompt}, {"sequence", Admission::sequence}},
      "chunk");
  cache.watermark = params.number(
      {"watermark",
       "Share of the blocks that stay free when a request is admitted, for those that run already (vLLM's "
       "scheduler setting of this name, and v0's of 0.01); a request alone may take them."},
      {0, 1}, 0);
  cache.preemption = params.choice<Preemption>(
      {"preemption",
       "What happens to the KV of a request that must make room: computed again, or moved to host memory and "
       "back."},
      {{"recompute", Preemption::recompute}, {"swap", Preemption::swap}}, "recompute");
  cache.swap_space = params.quantity<Bytes>({"swap_space_gib",
                                             "Host memory a device for KV caches that are swapped out, vLLM "
                                             "v0's --swap-space; a request that finds none "
                                             "free is computed again."},
                                            not_negative, 4);
  cache.prefix_caching = read_prefix_caching(params);
  cache.prefix_index = read_prefix_index(params);
  cache.handover =
      params.choice<Handover>({"handover",
                               "How a prefill replica sends KV caches on: each whole, once its prompt is "
                               "computed, or layerwise, under "
                               "the prompt's computation."},
                              {{"whole", Handover::whole}, {"layerwise", Handover::layerwise}}, "whole");
  cache.tiers = read_kv_tiers(params, cache.block_tokens);
  if (!cache.tiers.empty() && cache.prefix_caching != PrefixCaching::shared)
    params.fail("tiers",
                "expected \"prefix_caching\": true beside them: what they keep is found by prefixes");
  // Loads come in another order than they were asked for, and room at the next replica, which is taken
  // as a prompt begins, would go to prompts that wait for those that wait for that room.
  if (!cache.tiers.empty() && cache.handover == Handover::layerwise)
    params.fail("handover",
                "expected \"whole\" beside tiers: a prompt that is loaded is not sent layer by layer");
  params.close();
  return cache;
}

void read_expert_sharing(Params& replica, ExpertSharing& sharing) {
  sharing.communication = replica.choice<ExpertSharing::Communication>(
      {"communication",
       "How tokens get to experts where attention_data is above 1: every rank gets all of them (all_gather, "
       "vLLM's default), DeepEP's kernels (low latency for decodes, normal for prompts), or TensorRT-LLM's "
       "all-to-all over NVLink."},
      {{"all_gather", ExpertSharing::Communication::all_gather},
       {"deepep", ExpertSharing::Communication::deepep},
       {"nvlink_all_to_all", ExpertSharing::Communication::nvlink_all_to_all}},
      "all_gather");
  Params experts = replica.object({"experts", "How tokens fall on experts, and experts on ranks."});
  sharing.distribution = experts.choice<ExpertDistribution>(
      {"distribution",
       "Every rank has as many tokens as any other (routers balance; measured servers fit that), or experts "
       "are chosen by a power law and a layer waits for its fullest rank."},
      {{"uniform", ExpertDistribution::uniform}, {"power_law", ExpertDistribution::power_law}}, "uniform");
  sharing.exponent = experts.number({"exponent", "Of the power law."}, {0, 8}, 1.2);
  sharing.redundant =
      static_cast<int>(experts.integer({"redundant",
                                        "Copies of the most loaded experts beside these, over all ranks; the "
                                        "heaviest are dealt out first (EPLB)."},
                                       {0, 65536}, 0));
  experts.close();
}

// An engine whose limit of requests goes by the device's memory has the least of those that the replica may
// stand on, and not above the tokens of a step. Not where a model keeps states or windows: room for these is
// set aside for every one (kept_by_requests), which the engine does not do.
void set_usual_requests(const Params& replica, const ReplicaSpec& spec, const Scenario& s, Params& batching) {
  if (kv_bytes_per_request(s.model, s.precision, {}, 0) > Bytes(0)) return;
  if (!limits_requests_by_memory(replica.given("engine"))) return;
  if (replica.given("speculative")) return;  // a step needs room for every one's drafts
  std::optional<std::int64_t> least;
  for (const NodeSpec& node : s.nodes)
    for (const DeviceGroup& group : node.devices)
      if (group.device && (!spec.device || group.device->spec().kind == *spec.device))
        least = std::min(least.value_or(std::numeric_limits<std::int64_t>::max()),
                         usual_batch_requests(group.device->spec()));
  const Json* tokens = batching.given("max_batch_tokens");
  if (least && tokens && tokens->is_number_integer() && *tokens > 0)
    least = std::min(*least, tokens->get<std::int64_t>());
  if (least) batching.usually("max_batch_requests", *least);
}

ReplicaSpec read_replica(Params params, const Scenario& s) {
  ReplicaSpec spec;
  spec.count = static_cast<int>(
      params.integer({"count", "Replicas like this one (data parallelism)."}, {1, 65536}, 1));
  spec.role = params.choice<Role>(
      {"role",
       "both, or prompts only (prefill) and generation only (decode) with the KV cache sent between."},
      {{"both", Role::both}, {"prefill", Role::prefill}, {"decode", Role::decode}}, "both");
  spec.device = params.text_or_null({"device", "Kind of device to run on; null: the next free ones."});
  spec.parallelism = read_parallelism(params.object({"parallelism", "How the model is cut."}));
  read_expert_sharing(params, spec.parallelism.experts);
  Params batching = params.object({"batching", "Which tokens the next step computes."});
  set_usual_requests(params, spec, s, batching);
  spec.batching = make_from(batching_policies(), std::move(batching), policy_kind);
  spec.kv_cache = read_kv_cache(params.object({"kv_cache", "The paged KV cache."}));
  spec.partitioning =
      make_from(partitioning_policies(),
                params.object({"partitioning", "Which unit of a device runs an operator."}), policy_kind);
  spec.placement = make_from(
      placement_policies(),
      params.object({"placement", "Which memory channel holds a request's KV cache, on devices with PIM."}),
      policy_kind);
  spec.prefetch = make_from(prefetch_policies(),
                            params.object({"prefetch", "What is fetched before it is needed."}), policy_kind);
  if (auto speculative = params.object_or_null(
          {"speculative", "Speculative decoding: who drafts tokens that decodes verify; null: nobody."}))
    spec.speculative = make_from(speculations(), std::move(*speculative), policy_kind);
  Params engine = params.object({"engine", "The serving engine around the kernels."});
  spec.calibration = read_calibration(engine);
  spec.engine = read_engine(engine, spec.calibration);
  read_engine_memory(engine, spec);
  read_front_end(engine, spec);
  if (!spec.kv_cache.prefix_index)
    spec.kv_cache.prefix_index = engine_in_force(spec.engine).row->preset.prefix_index;
  engine.close();
  spec.max_model_len = params.integer_or_null(
      {"max_model_len", "Longest prompt and output together; longer requests are rejected."},
      {1, std::int64_t{1} << 40});
  params.close();
  return spec;
}

}  // namespace

std::vector<ReplicaSpec> read_replicas(Params& serving, const Scenario& s) {
  std::vector<ReplicaSpec> replicas;
  for (Params& params : serving.list({"replicas", "Groups of alike replicas; by default one on one device."},
                                     1, Params::Presence::optional))
    replicas.push_back(read_replica(std::move(params), s));
  return replicas;
}

}  // namespace weir
