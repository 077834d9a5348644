#include "test/models/llm/stage_operators.h"

namespace weir::test::stage_graph {

TEST_CASE("stage: the GEMMs of all ranks and stages are the model's flops, plus what ranks repeat and pad") {
  for (const Architecture& m : catalog_and_random_models())
    for (const Sharding& s : shardings(m)) {
      double flops = 0;
      for (int stage = 0; stage < s.pipeline; ++stage) {
        const StageGraph g = build_stage(m, {}, s, stage);
        for (const Part& each : g.parts)
          flops += s.tensor * static_cast<double>(each.times) * gemm_flops(each.operators);
      }
      std::int64_t repeated = (padded_vocabulary(m, s) - m.vocabulary) * m.hidden;
      for (const auto& [_, moe, attention, wide] : m.layers) {
        const std::int64_t router =
            moe.experts == 0 ? 0 : m.hidden * (moe.experts + (moe.shared_gate ? 1 : 0));
        repeated += (s.tensor - 1) * (router + replicated_matrices(attention, m.hidden));
        const auto* hybrid = std::get_if<HybridAttention>(&attention);
        if (const auto* heads = hybrid ? &hybrid->heads : std::get_if<HeadAttention>(&attention))
          repeated += (kv_copies(*heads, s) - 1) * (heads->one_key_and_value ? 1 : 2) * heads->kv_heads *
                      heads->head_dim * m.hidden;
      }
      INFO(m.name << ", " << to_string(s));
      CHECK(flops ==
            Approx(flops_per_token(m, 0).value() + 2. * static_cast<double>(repeated)).epsilon(1e-12));
    }
}

TEST_CASE("stage: the attention heads of all ranks are the model's") {
  for (const Architecture& m : catalog_and_random_models())
    for (const Sharding& s : has_plain_heads(m) ? shardings(m) : std::vector<Sharding>{}) {
      const StageGraph graph = build_stage(m, {}, s, 0);
      const auto& attention = std::get<Attention>(find(part(graph, "block"), "attention").kernel);
      INFO(m.name << ", " << to_string(s));
      CHECK(attention.query_heads * s.tensor == heads_of(m).query_heads);
      CHECK(attention.kv_heads * s.tensor == heads_of(m).kv_heads * kv_copies(heads_of(m), s));
      CHECK(attention.query_heads % attention.kv_heads == 0);
      const double one_token =
          4. * static_cast<double>(m.layer_count() * attention.query_heads * attention.head_dim);
      CHECK(flops_per_token(m, 1).value() - flops_per_token(m, 0).value() == one_token * s.tensor);
    }
}

TEST_CASE("stage: every graph is in topological order, in one piece, with one source") {
  for (const Architecture& m : catalog_and_random_models())
    for (const Sharding& s : shardings(m))
      for (int stage = 0; stage < s.pipeline; ++stage) {
        const StageGraph g = build_stage(m, {}, s, stage);
        INFO(m.name << ", " << to_string(s) << ", stage " << stage);
        CHECK((boost::num_vertices(part(g, "prologue")) > 0) == (stage == 0));
        CHECK((boost::num_vertices(part(g, "epilogue")) > 0) == (stage == s.pipeline - 1));
        REQUIRE(boost::num_vertices(part(g, "block")) > 0);
        for (const OperatorGraph* graph : graphs_of(g)) {
          for (const auto e : boost::make_iterator_range(boost::edges(*graph)))
            REQUIRE(boost::source(e, *graph) < boost::target(e, *graph));
          for (const auto v : operators(*graph)) REQUIRE((boost::in_degree(v, *graph) == 0) == (v == 0));
        }
      }
}

TEST_CASE("stage: ranks that share nothing do not communicate, those that do, as a whole group") {
  for (const Architecture& m : catalog_and_random_models())
    for (const Sharding& s : shardings(m)) {
      const StageGraph g = build_stage(m, {}, s, 0);
      std::int64_t reductions = 0, squares = 0, selected = 0;
      for (const Part& each : g.parts)
        for (const auto v : operators(each.operators)) {
          const auto* group = each.operators[v].as<Communication>();
          if (!group) continue;
          CHECK(group->devices == s.tensor);
          CHECK(group->devices > 1);
          const auto next = boost::out_edges(v, each.operators);
          if (next.first != next.second &&
              each.operators[boost::target(*next.first, each.operators)].name.starts_with("ssm_")) {
            selected += each.times;
          } else if (group->collective == Collective::all_reduce && group->per_row > Bytes(8)) {
            CHECK(group->per_row.value() == 2. * static_cast<double>(m.hidden));
            if (each.name == "block") reductions += each.times;
          } else if (group->collective == Collective::all_reduce) {
            squares += each.times;
          }
        }
      const auto norms = std::ranges::count_if(layers_of_stage(m, s, 0), [](const LayerKind& layer) {
        const auto* heads = std::get_if<HeadAttention>(&layer.attention);
        return heads && heads->qk_norm == QkNorm::all_heads;
      });
      std::int64_t branches = 0, selections = 0;  // Mamba adds up what selects
      for (const LayerKind& layer : layers_of_stage(m, s, 0)) {
        branches += m.parallel_block ? 1 : (layer.has_attention() ? 1 : 0) + (layer.has_mlp() ? 1 : 0);
        const auto* hybrid = std::get_if<HybridAttention>(&layer.attention);
        const auto* states = hybrid ? &hybrid->states : std::get_if<StateSpace>(&layer.attention);
        if (states && states->selected() > 0) ++selections;
      }
      CHECK(reductions == (s.tensor == 1 ? 0 : branches));
      CHECK(selected == (s.tensor == 1 ? 0 : selections));
      CHECK(squares == (s.tensor == 1 ? 0 : norms));
    }
}

TEST_CASE("stage: a Llama block has the profiler's layers, and the residual goes around attention") {
  const StageGraph one = build_stage(catalog_model("llama3.1-8b"), {}, {}, 0);
  CHECK(layers_of(one) == 32);
  CHECK(names(part(one, "prologue")) == Names{"embedding"});
  CHECK(names(part(one, "block")) == Names{"layernorm", "qkv_proj", "rotary_emb", "attention", "o_proj",
                                           "layernorm", "gate_up_proj", "act_fn", "down_proj"});
  CHECK(names(part(one, "epilogue")) == Names{"final_layernorm", "lm_head", "sampler"});
  CHECK(inputs(part(one, "block"), 5) == Names{"o_proj", "layernorm"});

  const StageGraph four = build_stage(catalog_model("llama3.1-8b"), {}, {4, 1, 1}, 0);
  CHECK(names(part(four, "prologue")) == Names{"embedding", "all_reduce"});
  CHECK(names(part(four, "block")) == Names{"layernorm", "qkv_proj", "rotary_emb", "attention", "o_proj",
                                            "all_reduce", "layernorm", "gate_up_proj", "act_fn", "down_proj",
                                            "all_reduce"});
  CHECK(names(part(four, "epilogue")) == Names{"final_layernorm", "lm_head", "all_gather", "sampler"});
  CHECK(inputs(part(four, "block"), 6) == Names{"all_reduce", "layernorm"});
}

TEST_CASE("stage: a block of four norms norms each branch once its ranks' parts are added up") {
  Architecture m = catalog_model("llama3.1-8b");
  m.block_norms = 4;
  const StageGraph stage = build_stage(m, {}, {2, 1, 1}, 0);
  const OperatorGraph& block = part(stage, "block");
  CHECK(names(block) == Names{"layernorm", "qkv_proj", "rotary_emb", "attention", "o_proj", "all_reduce",
                              "layernorm", "layernorm", "gate_up_proj", "act_fn", "down_proj", "all_reduce",
                              "layernorm"});
  CHECK(inputs(block, 6) == Names{"all_reduce"});
  CHECK(inputs(block, 7) == Names{"layernorm", "layernorm"});
  CHECK(inputs(block, 12) == Names{"all_reduce"});
}

TEST_CASE("stage: a rank of Llama-3.1-8B at TP4 has a quarter of every matrix and its bytes a row") {
  const StageGraph g = build_stage(catalog_model("llama3.1-8b"), {}, {4, 1, 1}, 0);
  auto matrix = [](const OperatorGraph& graph, const char* name) {
    return std::pair(gemm(graph, name).in, gemm(graph, name).out);
  };
  auto bytes = [](const OperatorGraph& graph, const char* name) {
    return bytes_per_row(find(graph, name)).value();
  };
  CHECK(matrix(part(g, "block"), "qkv_proj") ==
        std::pair<std::int64_t, std::int64_t>(4096, (8 + 2 + 2) * 128));
  CHECK(matrix(part(g, "block"), "o_proj") == std::pair<std::int64_t, std::int64_t>(1024, 4096));
  CHECK(matrix(part(g, "block"), "gate_up_proj") == std::pair<std::int64_t, std::int64_t>(4096, 7168));
  CHECK(matrix(part(g, "block"), "down_proj") == std::pair<std::int64_t, std::int64_t>(3584, 4096));
  CHECK(matrix(part(g, "epilogue"), "lm_head") == std::pair<std::int64_t, std::int64_t>(4096, 128256 / 4));
  CHECK(bytes(part(g, "prologue"), "embedding") == 2 * 4096 * 2);  // a row read, a row written
  CHECK(bytes(part(g, "block"), "layernorm") ==
        4 * 4096 * 2);  // branch and residual read, sum and norm written
  CHECK(bytes(part(g, "block"), "rotary_emb") == 2 * (8 + 2) * 128 * 2);
  CHECK(bytes(part(g, "block"), "act_fn") == (2 + 1) * 3584 * 2);
  CHECK(bytes(part(g, "epilogue"), "all_gather") == 128256 * 2);
  CHECK(bytes(part(g, "epilogue"), "sampler") == 128256 * (2 + 4 + 4));
  CHECK(find(part(g, "epilogue"), "final_layernorm").rows == Rows::tokens);
  for (const char* name : {"lm_head", "all_gather", "sampler"})
    CHECK(find(part(g, "epilogue"), name).rows == Rows::sequences);
}

TEST_CASE("stage: families differ where their architectures do") {
  const StageGraph qwen3 = build_stage(catalog_model("qwen3-32b"), {}, {}, 0);
  CHECK(inputs(part(qwen3, "block"), 2) == Names{"qkv_proj"});
  CHECK(bytes_per_row(find(part(qwen3, "block"), "qk_norm")).value() == 2 * (64 + 8) * 128 * 2);
  CHECK(inputs(part(qwen3, "block"), 3) == Names{"qk_norm"});

  // OPT: no rotary embedding, a plain MLP, a position's row beside the token's.
  const StageGraph opt = build_stage(catalog_model("opt-13b"), {}, {}, 0);
  CHECK(names(part(opt, "block")) == Names{"layernorm", "qkv_proj", "attention", "o_proj", "layernorm",
                                           "gate_up_proj", "act_fn", "down_proj"});
  CHECK(gemm(part(opt, "block"), "gate_up_proj").out == 20480);
  CHECK(bytes_per_row(find(part(opt, "block"), "act_fn")).value() == 2 * 20480 * 2);
  CHECK(bytes_per_row(find(part(opt, "prologue"), "embedding")).value() == 3 * 5120 * 2);
  CHECK(gemm(part(opt, "epilogue"), "lm_head").out == 50304);  // 50,272 padded to a multiple of 64

  // Falcon: attention and MLP from their own norms of one hidden state, one all-reduce over both.
  const StageGraph falcon = build_stage(catalog_model("falcon-40b"), {}, {2, 1, 1}, 0);
  CHECK(names(part(falcon, "block")) == Names{"layernorm", "layernorm", "qkv_proj", "rotary_emb", "attention",
                                              "o_proj", "gate_up_proj", "act_fn", "down_proj", "all_reduce"});
  CHECK(inputs(part(falcon, "block"), 6) == Names{"layernorm"});
  CHECK(inputs(part(falcon, "block"), 9) == Names{"o_proj", "down_proj"});
}

TEST_CASE("stage: experts are dealt to the expert groups and cut within them") {
  const Architecture m = catalog_model("qwen3-30b-a3b");
  for (const int expert : {1, 2, 4}) {
    const OperatorGraph block = part(build_stage(m, {}, {4, 1, expert}, 0), "block");
    const auto* up = find(block, "moe_gate_up").as<GroupedGemm>();
    REQUIRE(up);
    CHECK((up->here == 128 / expert && up->active == 8 && up->total == 128));
    CHECK((up->each.in == 2048 && up->each.out == 2 * 768 * expert / 4));
    CHECK(gemm(block, "moe_down").in == 768 * expert / 4);
    // 8 experts a token, spread evenly, however they are dealt: a quarter of their widths on each rank.
    CHECK(bytes_per_row(find(block, "moe_act")).value() == 8 * 3 * 768 / 4 * 2);
    CHECK(bytes_per_row(find(block, "moe_sum")).value() == (8. / expert + 1) * 2048 * 2);
    CHECK(gemm(block, "moe_router").out == 128);
  }
}

TEST_CASE("stage: a shared expert runs beside the routed ones and is added to them") {
  Architecture m = catalog_model("qwen3-30b-a3b");
  for (LayerKind& layer : m.layers) layer.moe.shared_intermediate = 1024, layer.moe.shared_gate = true;
  const OperatorGraph block = part(build_stage(m, {}, {2, 1, 1}, 0), "block");
  CHECK(names(block) == Names{"layernorm", "qkv_proj", "qk_norm", "rotary_emb", "attention", "o_proj",
                              "all_reduce", "layernorm", "moe_router", "moe_gate_up", "moe_act", "moe_down",
                              "gate_up_proj", "act_fn", "down_proj", "moe_sum", "all_reduce"});
  CHECK(inputs(block, 9) == Names{"moe_router", "layernorm"});
  CHECK(inputs(block, 12) == Names{"layernorm"});
  CHECK(inputs(block, 15) == Names{"moe_down", "down_proj"});
  CHECK(gemm(block, "gate_up_proj").out == 1024);
  CHECK(gemm(block, "moe_router").out == 129);
}

}  // namespace weir::test::stage_graph
