#include "models/llm/drafts.h"

#include "models/llm/parts/rewrite.h"
#include "models/llm/stage.h"

namespace weir {
namespace {

// A drafting model's ranks are the target's tensor group; it is not cut into stages.
Sharding sharding_of(const Architecture& drafter, Sharding target) {
  target.pipeline = 1;
  if (drafter.most_experts() == 0) target.expert = 1;
  return target;
}

// One layer, of the kind of the model's last.
Architecture layers_behind(Architecture target, std::size_t layers) {
  target.layers.assign(layers, target.layers.back());
  return target;
}

Architecture drafter_of(const Drafting& drafting, const Architecture& target) {
  return drafting.by == Drafting::By::model ? drafting.model : layers_behind(target, 1);
}

// The hidden state of the model and the embedding of the token behind it, side by side, become one hidden
// state (eh_proj of DeepSeek's MTP, vllm/model_executor/models/deepseek_mtp.py; fc of llama_eagle.py). It is
// neither quantised nor cut over the ranks.
Operator combine(const Architecture& target, const Precision& precision, const Sharding& sharding) {
  const OperatorMaker make{target, target.layers.back(), precision, sharding};
  return make.unquantised_gemm("draft_proj", 2 * target.hidden, target.hidden);
}

Rows rows_of_drafts(const Operator& op, bool first) {
  return first && op.rows != Rows::sequences ? op.rows : Rows::drafts;
}

// As they stand in one forward, or in so many of one row a sequence.
Part draft_part(Part part, bool first, std::int64_t forwards, const std::string& prefix) {
  part.name = "draft " + part.name;
  part.times *= forwards;
  part.operators = rewrite(part.operators, [&](const OperatorGraph& from, std::size_t v) {
    Operator op = from[v];
    op.rows = rows_of_drafts(op, first);
    op.name = prefix + op.name;
    return Replacement(std::move(op));
  });
  return part;
}

// Weights of a layer: what a second one adds.
Bytes layer_bytes(const Architecture& target, const Precision& precision, const Sharding& sharding) {
  return weight_bytes(layers_behind(target, 2), precision, sharding, 0) -
         weight_bytes(layers_behind(target, 1), precision, sharding, 0);
}

}  // namespace

std::vector<std::string> drafting_problems(const Drafting& drafting, const Sharding& target) {
  if (drafting.by != Drafting::By::model) return {};
  return sharding_problems(drafting.model, sharding_of(drafting.model, target));
}

void append_drafts(StageGraph& last_stage, const Drafting& drafting, const Architecture& target,
                   const Precision& precision, const Sharding& sharding) {
  if (drafting.by == Drafting::By::lookup) return;
  const bool own_model = drafting.by == Drafting::By::model;
  const Architecture model = drafter_of(drafting, target);
  const Sharding cut = sharding_of(model, sharding);
  StageGraph drafter = build_stage(model, precision, cut, 0);
  Bytes weights = drafter.weights.all;
  if (!own_model) {
    const Operator combined = combine(target, precision, cut);
    weights = layer_bytes(target, precision, cut) + stored_bytes(lowered(combined, {}));
    OperatorGraph& prologue = drafter.parts.front().operators;
    OperatorGraph one;
    append(one, combined, {});
    prologue = one_after_the_other(prologue, one);
  }
  // Measured tables know layers by name: those of another model are others.
  const std::string prefix = own_model ? "draft_" : "";
  for (const Part& part : drafter.parts) last_stage.parts.push_back(draft_part(part, true, 1, prefix));
  if (drafting.tokens > 1)
    for (const Part& part : drafter.parts)
      last_stage.parts.push_back(draft_part(part, false, drafting.tokens - 1, prefix));
  last_stage.layers += drafting.tokens * drafter.layers;
  last_stage.weights.all += weights;
  last_stage.weights.on_device += weights;
}

Bytes draft_kv_bytes_per_token(const Drafting& drafting, const Architecture& target,
                               const Precision& precision, const Sharding& sharding) {
  if (drafting.by == Drafting::By::lookup) return Bytes(0);
  const Architecture model = drafter_of(drafting, target);
  return kv_bytes_per_token(model, precision, sharding_of(model, sharding), 0);
}

}  // namespace weir
