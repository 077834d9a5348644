#include "models/llm/drafts.h"

#include <catch2/catch.hpp>

#include "test/models/llm/models.h"

using namespace weir;

namespace {

StageGraph with_drafts(const Architecture& target, const Drafting& drafting, const Sharding& cut) {
  StageGraph stage = build_stage(target, {}, cut, cut.pipeline - 1);
  append_drafts(stage, drafting, target, {}, cut);
  return stage;
}

Drafting drafting_by(Drafting::By by, std::int64_t tokens, const char* model = nullptr) {
  return {by, tokens, model ? catalog_model(model) : Architecture{}};
}

double draft_gemm_rows(const StageGraph& stage, const BatchShape& batch, const std::string& name) {
  double rows = 0;
  for (const Part& part : stage.parts) {
    if (!part.name.starts_with("draft ")) continue;
    for (std::size_t v = 0; v < boost::num_vertices(part.operators); ++v)
      if (part.operators[v].name == name)
        rows += static_cast<double>(part.times) * lowered(part.operators[v], batch).rows;
  }
  return rows;
}

}  // namespace

TEST_CASE("drafts: a drafting layer weighs what a layer of the model does, and the matrix in front of it") {
  for (const char* name : {"qwen3-32b", "qwen3-30b-a3b", "llama3.1-70b"})
    for (const int tensor : {1, 4}) {
      const Architecture target = catalog_model(name);
      const Sharding cut{tensor, 2, 1};
      const Bytes plain = build_stage(target, {}, cut, 1).weights.on_device;
      const StageGraph drafting = with_drafts(target, drafting_by(Drafting::By::layer, 3), cut);
      Architecture longer = target;
      longer.layers.push_back(target.layers.back());
      const Bytes layer = weight_bytes(longer, {}, {tensor}, 0) - weight_bytes(target, {}, {tensor}, 0);
      const double combined = 2. * 2 * static_cast<double>(target.hidden * target.hidden);
      CHECK((drafting.weights.on_device - plain).value() == Approx(layer.value() + combined));
      const Bytes all_layers = kv_bytes_per_token(target, {}, {tensor}, 0);
      CHECK(draft_kv_bytes_per_token(drafting_by(Drafting::By::layer, 3), target, {}, cut).value() ==
            Approx(all_layers.value() / static_cast<double>(target.layer_count())));
    }
}

TEST_CASE("drafts: a drafting model weighs as it does alone, and n-grams nothing") {
  const Architecture target = catalog_model("llama3.1-70b"), small = catalog_model("llama3.1-8b");
  const Sharding cut{2, 1, 1};
  const StageGraph plain = build_stage(target, {}, cut, 0);
  const Drafting model = drafting_by(Drafting::By::model, 4, "llama3.1-8b");
  CHECK((with_drafts(target, model, cut).weights.all - plain.weights.all).value() ==
        Approx(weight_bytes(small, {}, cut, 0).value()));
  CHECK(draft_kv_bytes_per_token(model, target, {}, cut).value() ==
        Approx(kv_bytes_per_token(small, {}, cut, 0).value()));
  const Drafting lookup = drafting_by(Drafting::By::lookup, 4);
  CHECK(with_drafts(target, lookup, cut).parts.size() == plain.parts.size());
  CHECK(draft_kv_bytes_per_token(lookup, target, {}, cut) == Bytes(0));
}

TEST_CASE(
    "drafts: one forward over all rows of the step, and for each further draft one of a row a sequence") {
  const Architecture target = catalog_model("llama3.1-8b");
  BatchShape batch;
  const PrefillChunk chunk{100, 0};
  batch.prefill = {&chunk, 1};
  batch.prefill_tokens = 100;
  batch.decodes = 10, batch.decode_rows = 5, batch.decode_context_sum = 1000, batch.decode_context_max = 200;
  batch.sequences = 11;
  for (const std::int64_t tokens : {1, 2, 4}) {
    const StageGraph stage = with_drafts(target, drafting_by(Drafting::By::layer, tokens), {});
    const auto further = static_cast<double>(tokens - 1);
    CHECK(draft_gemm_rows(stage, batch, "qkv_proj") == 150 + 11 * further);
    CHECK(draft_gemm_rows(stage, batch, "attention") == 150 + 10 * further);
    CHECK(draft_gemm_rows(stage, batch, "lm_head") == 11 + 11 * further);
    CHECK(lowered(*operators_of(stage).front(), batch).rows == 150);
  }
  CHECK(batch.sampled() == 51);
}

TEST_CASE("drafts: a drafting model is cut as the target's tensor group is, without its stages and experts") {
  const Drafting small = drafting_by(Drafting::By::model, 2, "llama3.1-8b");
  CHECK(drafting_problems(small, {.tensor = 4, .pipeline = 40, .expert = 4}).empty());
  CHECK_FALSE(drafting_problems(small, {.tensor = 3}).empty());
  CHECK(drafting_problems(drafting_by(Drafting::By::layer, 2), {.tensor = 3}).empty());
  CHECK(drafting_problems(drafting_by(Drafting::By::model, 2, "mixtral-8x7b"), {.tensor = 8, .expert = 8})
            .empty());
  const Architecture target = catalog_model("qwen3-30b-a3b");
  const StageGraph stage = with_drafts(target, small, {.tensor = 4, .pipeline = 2, .expert = 4});
  CHECK(stage.layers == 24 + 2 * 32);
  CHECK(draft_kv_bytes_per_token(small, target, {}, {.tensor = 4, .pipeline = 2, .expert = 4}).value() ==
        32 * 2 * 2 * 128 * 2);
  // Layers of another model are other layers to measured tables; the target's own are not.
  BatchShape three;
  three.decodes = three.sequences = 3;
  CHECK(draft_gemm_rows(stage, three, "draft_qkv_proj") == 2 * 32 * 3);
  CHECK(draft_gemm_rows(stage, three, "qkv_proj") == 0);
  const StageGraph own = with_drafts(target, drafting_by(Drafting::By::layer, 2), {.tensor = 4, .expert = 4});
  CHECK(own.layers == 48 + 2);
  CHECK(draft_gemm_rows(own, three, "draft_proj") == 2 * 3);
  for (const Operator* op : operators_of(own))
    if (op->name == "draft_proj") CHECK((op->as<Gemm>()->in == 2 * 2048 && op->as<Gemm>()->out == 2048));
}
