#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "models/llm/operator_graph.h"

namespace weir {
namespace {

class Problems {
 public:
  void add(std::string what) {  // layers may have the same one
    if (std::ranges::find(list_, what) == list_.end()) list_.push_back(std::move(what));
  }
  void uneven(const char* what, std::int64_t size, std::int64_t parts, const char* over) {
    if (size % parts != 0)
      add(fmt::format("{} ({}) cannot be divided evenly over {} {}", what, size, parts, over));
  }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

void check_heads(const HeadAttention& a, std::int64_t tensor, Problems& problems) {
  problems.uneven("attention heads", a.query_heads, tensor, "tensor ranks");
  if (a.kv_heads >= tensor)
    problems.uneven("KV heads", a.kv_heads, tensor, "tensor ranks");
  else if (tensor % a.kv_heads != 0)
    problems.add(
        fmt::format("tensor {} is no multiple of the {} KV heads, which it replicates", tensor, a.kv_heads));
}

void check_heads(const LatentAttention& a, std::int64_t tensor, Problems& problems) {
  problems.uneven("attention heads", a.heads, tensor, "tensor ranks");
}

void check_heads(const LinearAttention& a, std::int64_t tensor, Problems& problems) {
  problems.uneven("key heads of linear attention", a.key_heads, tensor, "tensor ranks");
  problems.uneven("value heads of linear attention", a.value_heads, tensor, "tensor ranks");
}

// Groups that are fewer than the ranks are on several of them (vLLM, extra_groups_for_head_shards).
void check_heads(const StateSpace& a, std::int64_t tensor, Problems& problems) {
  if (a.heads > 0) problems.uneven("heads of Mamba", a.heads, tensor, "tensor ranks");
  problems.uneven("channels of Mamba", a.inner, tensor, "tensor ranks");
  if (a.groups >= tensor) problems.uneven("groups of Mamba", a.groups, tensor, "tensor ranks");
}

void check_heads(const HybridAttention& a, std::int64_t tensor, Problems& problems) {
  check_heads(a.heads, tensor, problems);
  check_heads(a.states, tensor, problems);
}

void check_heads(const NoAttention&, std::int64_t, Problems&) {}

void check_mlp(const LayerKind& layer, const Sharding& s, Problems& problems) {
  const MixtureOfExperts& moe = layer.moe;
  if (moe.experts == 0)
    return problems.uneven("intermediate size", layer.intermediate, s.tensor, "tensor ranks");
  if (s.experts.redundant == 0)
    problems.uneven("experts", moe.experts, s.expert, "expert groups");
  else
    problems.uneven("experts with their redundant copies", moe.experts + s.experts.redundant, s.expert,
                    "expert groups");
  if (s.experts.redundant > moe.experts * (s.expert - 1))
    problems.add(fmt::format("redundant {}: {} experts lie on each of {} groups then", s.experts.redundant,
                             moe.experts, s.expert));
  problems.uneven("intermediate size of the shared expert", moe.shared_intermediate, s.tensor,
                  "tensor ranks");
  if (s.ranks() % s.expert == 0)
    return problems.uneven("intermediate size of an expert", moe.intermediate, s.ranks() / s.expert,
                           "ranks of an expert group");
  problems.add(
      s.attention_data == 1
          ? fmt::format("expert {} does not divide tensor {}: expert groups lie inside the tensor group",
                        s.expert, s.tensor)
          : fmt::format("expert {} does not divide the {} ranks of a stage (tensor {} x attention_data {})",
                        s.expert, s.ranks(), s.tensor, s.attention_data));
}

void cut(HeadAttention& a, std::int64_t tensor) {
  a.query_heads = (a.query_heads + tensor - 1) / tensor;
  a.kv_heads = (a.kv_heads + tensor - 1) / tensor;
}

void cut(LatentAttention& a, std::int64_t tensor) {
  a.heads = (a.heads + tensor - 1) / tensor;
}

void cut(LinearAttention& a, std::int64_t tensor) {
  a.key_heads = (a.key_heads + tensor - 1) / tensor;
  a.value_heads = (a.value_heads + tensor - 1) / tensor;
}

void cut(StateSpace& a, std::int64_t tensor) {
  a.inner = (a.inner + tensor - 1) / tensor;
  a.heads = (a.heads + tensor - 1) / tensor;
  a.groups = (a.groups + tensor - 1) / tensor;
}

void cut(HybridAttention& a, std::int64_t tensor) {
  cut(a.heads, tensor);
  cut(a.states, tensor);
}

void cut(NoAttention&, std::int64_t) {}

}  // namespace

std::vector<std::string> sharding_problems(const Architecture& model, const Sharding& sharding) {
  Problems problems;
  if (std::min({sharding.tensor, sharding.pipeline, sharding.expert, sharding.attention_data}) < 1) {
    problems.add(
        fmt::format("tensor {}, pipeline {}, expert {} and attention_data {} must each be at least 1",
                    sharding.tensor, sharding.pipeline, sharding.expert, sharding.attention_data));
    return problems.take();
  }
  if (sharding.pipeline > model.layer_count())
    problems.add(
        fmt::format("pipeline {}: more stages than the {} layers", sharding.pipeline, model.layer_count()));
  if (sharding.expert > 1 && model.most_experts() == 0)
    problems.add(fmt::format("expert {}: the model has no experts", sharding.expert));
  if (sharding.experts.redundant > 0 && model.most_experts() == 0)
    problems.add(fmt::format("redundant {}: the model has no experts", sharding.experts.redundant));
  if (sharding.attention_data > 1 && model.most_experts() == 0)
    problems.add(
        fmt::format("attention_data {}: the model has no experts to share; replicas of {} ranks are as much",
                    sharding.attention_data, sharding.tensor));
  if (sharding.experts.communication != ExpertSharing::Communication::all_gather) {
    if (sharding.attention_data == 1)
      problems.add(
          "communication: tokens are sent to experts where attention_data is above 1; the ranks of a tensor "
          "group "
          "have all of them");
    else if (sharding.expert != sharding.ranks())
      problems.add(fmt::format(
          "communication: sends tokens to whole experts, so expert must be all {} ranks of a stage (is {})",
          sharding.ranks(), sharding.expert));
  }
  if (sharding.attention_data > 1 && model.parallel_block)
    problems.add(fmt::format("attention_data {}: attention and MLP of {} run side by side",
                             sharding.attention_data, model.name));
  for (const LayerKind& layer : sharding.pad_heads ? std::vector<LayerKind>{} : model.layer_kinds())
    std::visit([&](const auto& kind) { check_heads(kind, sharding.tensor, problems); }, layer.attention);
  for (const LayerKind& layer : model.layer_kinds()) check_mlp(layer, sharding, problems);
  return problems.take();
}

// Fewer KV heads than ranks are replicated (vLLM, QKVParallelLinear: max(1, total_num_kv_heads // tp_size)).
HeadCounts heads_of_rank(HeadCounts all, const Sharding& sharding) {
  const auto most = [&](std::int64_t heads) { return (heads + sharding.tensor - 1) / sharding.tensor; };
  return {most(all.query), most(all.kv), all.dim};
}

AttentionKind of_rank(const AttentionKind& kind, const Sharding& sharding) {
  AttentionKind share = kind;
  std::visit([&](auto& a) { cut(a, sharding.tensor); }, share);
  return share;
}

// vLLM's get_pp_indices: what is left over goes one layer each to the stages before the last one, which has
// the norm and the LM head, from the back: 22 layers over 4 stages are 5, 6, 6, 5.
std::int64_t stage_layers(const Architecture& model, const Sharding& sharding, int stage) {
  if (stage < 0 || stage >= sharding.pipeline)
    throw std::invalid_argument(fmt::format("no stage {} in a pipeline of {}", stage, sharding.pipeline));
  const std::int64_t left_over = model.layer_count() % sharding.pipeline;
  const int from_the_last = sharding.pipeline - 1 - stage;
  const bool one_more = from_the_last >= 1 && from_the_last <= left_over;
  return model.layer_count() / sharding.pipeline + (one_more ? 1 : 0);
}

std::span<const LayerKind> layers_of_stage(const Architecture& model, const Sharding& sharding, int stage) {
  std::int64_t before = 0;
  for (int earlier = 0; earlier < stage; ++earlier) before += stage_layers(model, sharding, earlier);
  return std::span(model.layers)
      .subspan(static_cast<std::size_t>(before),
               static_cast<std::size_t>(stage_layers(model, sharding, stage)));
}

// vLLM pads to DEFAULT_VOCAB_PADDING_SIZE = 64 and refuses tensor sizes that do not divide that; here they
// pad on.
std::int64_t padded_vocabulary(const Architecture& model, const Sharding& sharding) {
  const std::int64_t unit = std::lcm<std::int64_t>(64, sharding.tensor);
  return (model.vocabulary + unit - 1) / unit * unit;
}

}  // namespace weir
